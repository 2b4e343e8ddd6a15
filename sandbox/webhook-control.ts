/**
 * The sandbox commands that send a provider's webhooks, and the wait for webhooks that other commands cause.
 * A webhook by command is sent as commanded, even when nothing happened that it could report.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { apiError } from '#contract/errors.ts'
import { EmptyInput, parseInput } from '#contract/input.ts'
import { WebhookBody } from './control-bodies.ts'
import { senderOf } from './emulator.ts'
import { type AdoptedOptions, noteCommand } from './linked-connections.ts'
import { findProviders, readProvider, runFaultControl } from './locate.ts'
import type { SandboxProvider } from './magic-users.ts'
import type { Sandbox } from './start.ts'

interface WebhookControlOptions extends AdoptedOptions {
  readonly sandbox: Sandbox
}

/** The longest time that a command waits for webhooks in flight. */
const maxWaitMs = 5000

/**
 * Resolves when the webhooks that are due were answered, so that the command's answer shows what they did.
 */
export async function awaitWebhooks(
  sandbox: Sandbox,
  providers: readonly SandboxProvider[],
): Promise<void> {
  const all = Promise.all(providers.map((provider) => senderOf(sandbox[provider])?.settled()))
  await Promise.race([all, sleep(maxWaitMs, undefined, { ref: false })])
}

export function addWebhookRoutes(admin: FastifyInstance, options: WebhookControlOptions): void {
  const { sandbox } = options

  admin.post<{ Params: { person: string } }>(
    '/sandbox/people/:person/webhooks',
    async (request, reply) => {
      const { person } = request.params
      const { event: kind, ...body } = parseInput(WebhookBody, request.body)
      const provider = findSender(sandbox, { person, kind, wanted: body.provider })
      const { webhooks } = sandbox[provider].faultControls
      const target = senderOf(sandbox[provider])?.target ?? null
      if (webhooks === null || target === null) {
        throw refuse('webhooks: this sandbox has no address to send to')
      }
      const sent = runFaultControl(() =>
        webhooks.fire(
          person,
          { kind, account: body.account ?? null },
          {
            lateMs: (body.late ?? 0) * 1000,
            twice: body.twice === true,
            afterNext: body.outOfOrder === true,
            forged: body.wrongSignature === true,
          },
        ),
      )
      await awaitWebhooks(sandbox, [provider])
      await noteCommand(options, {
        action: 'sandbox.webhook',
        details: { person, provider, event: kind },
        people: [],
      })
      const answers = sent.flatMap(({ statuses }) => statuses)
      return reply.code(201).send({ person, provider, event: kind, sent: sent.length, answers })
    },
  )

  admin.post<{ Params: { provider: string } }>(
    '/sandbox/providers/:provider/signing-key',
    async (request) => {
      parseInput(EmptyInput, request.body)
      const provider = readProvider(request.params.provider)
      const rotateKey = sandbox[provider].faultControls.webhooks?.rotateKey ?? null
      if (rotateKey === null) throw refuse(`provider: the key of ${provider} does not rotate`)
      rotateKey()
      await noteCommand(options, {
        action: 'sandbox.rotate-key',
        details: { provider },
        people: [],
      })
      return { provider }
    },
  )
}

interface Order {
  readonly person: string
  readonly kind: string
  readonly wanted: SandboxProvider | undefined
}

/** The names of events differ between providers, so they identify the provider. */
function findSender(sandbox: Sandbox, { person, kind, wanted }: Order): SandboxProvider {
  const kindsOf = (provider: SandboxProvider) =>
    sandbox[provider].faultControls.webhooks?.kinds ?? []
  const all = findProviders(sandbox, person, wanted)
  const places = all.filter((provider) => kindsOf(provider).length > 0)
  if (places.length === 0) throw refuse(`event: ${all.join(', ')} sends no webhooks`)
  const found = places.find((provider) => kindsOf(provider).includes(kind))
  if (found !== undefined) return found
  throw apiError('invalid_params', {
    details: places.map((provider) => `event: ${provider} sends ${kindsOf(provider).join(', ')}`),
  })
}

const refuse = (detail: string) => apiError('invalid_params', { details: [detail] })
