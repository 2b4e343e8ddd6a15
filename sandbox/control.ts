/**
 * The sandbox commands as paths of the admin API: people, rows, logins, consents, latency, failures, reset.
 * They exist only in sandbox mode and need the admin token. No code here names a provider.
 */
import type { FastifyInstance } from 'fastify'
import { EmptyInput, parseInput } from '#contract/input.ts'
import type { Clock } from '#kernel/time.ts'
import type { StateCommand } from './commands.ts'
import { FailureBody, LatencyBody, NewRowBody, RowChangeBody, WhereBody } from './control-bodies.ts'
import { senderOf } from './emulator.ts'
import type { FaultControls } from './fault-controls.ts'
import {
  type AdoptedOptions,
  describeAdopted,
  noteCommand,
  type Person,
  refreshAdopted,
} from './linked-connections.ts'
import {
  canServe,
  findProviders,
  readProvider,
  refuseEmptyChange,
  refuseTrade,
  runAtFirst,
  runFaultControl,
  toPerson,
} from './locate.ts'
import { listPeople, sandboxProviders } from './magic-users.ts'
import type { Sandbox } from './start.ts'
import { addWebhookRoutes, awaitWebhooks } from './webhook-control.ts'

export interface ControlOptions extends AdoptedOptions {
  readonly sandbox: Sandbox
  readonly clock: Clock
}

interface PersonPath {
  Params: { person: string }
}
interface ProviderPath {
  Params: { provider: string }
}

/** Makes what adds `/sandbox/…` to the admin API. */
export function makeSandboxControl(options: ControlOptions): (admin: FastifyInstance) => void {
  return (admin) => {
    addRowRoutes(admin, options)
    addStateRoutes(admin, options)
    addProviderRoutes(admin, options)
    addWebhookRoutes(admin, options)
  }
}

function addRowRoutes(admin: FastifyInstance, options: ControlOptions): void {
  const { sandbox, clock } = options

  admin.get('/sandbox/people', async () => ({ data: listPeople(sandbox.access) }))

  admin.post<PersonPath>('/sandbox/people/:person/rows', async (request, reply) => {
    const { person } = request.params
    const body = parseInput(NewRowBody, request.body)
    const [provider] = findProviders(sandbox, person, body.provider)
    refuseTrade(body, provider)
    const row = runFaultControl(() =>
      sandbox[provider].faultControls.addRow(person, {
        account: body.account ?? null,
        amount: body.amount,
        description: body.description,
        at: body.date ?? clock.now(),
        trade: {
          type: body.type ?? 'BUY',
          symbol: body.symbol ?? null,
          units: body.units ?? null,
          price: body.price ?? null,
        },
      }),
    )
    await awaitWebhooks(sandbox, [provider])
    await noteCommand(options, {
      action: 'sandbox.rows.add',
      details: { person, provider },
      people: [toPerson(sandbox, provider, person)],
    })
    return reply.code(201).send({ person, provider, ...row })
  })

  admin.post<PersonPath>('/sandbox/people/:person/rows/change', async (request) => {
    const { person } = request.params
    const body = parseInput(RowChangeBody, request.body)
    refuseEmptyChange(body)
    const all = findProviders(sandbox, person, body.provider)
    const change = {
      row: body.row ?? null,
      account: body.account ?? null,
      amount: body.amount ?? null,
      description: body.description ?? null,
      at: body.date ?? null,
    }
    // The id of a row does not name its provider; without one the first provider is used.
    const places = change.row === null ? all.slice(0, 1) : all
    const { provider, row } = runAtFirst(
      places,
      (faultControls) => faultControls.changeRow(person, change),
      sandbox,
    )
    await awaitWebhooks(sandbox, [provider])
    await noteCommand(options, {
      action: 'sandbox.rows.change',
      details: { person, provider },
      people: [toPerson(sandbox, provider, person)],
    })
    return { person, provider, ...row }
  })
}

function addStateRoutes(admin: FastifyInstance, options: ControlOptions): void {
  const { sandbox } = options
  type Act = (faultControls: FaultControls, person: string) => void

  const addVerb = (command: StateCommand, act: Act, { challenges = false } = {}) => {
    const path = command.replace('.', '/')
    admin.post<PersonPath>(`/sandbox/people/:person/${path}`, async (request) => {
      const { person } = request.params
      const { provider } = parseInput(WhereBody, request.body)
      const providers = findProviders(sandbox, person, provider)
      const people = providers.map((one) => toPerson(sandbox, one, person))
      const served = providers.filter((one) => canServe(sandbox, one, path, provider))
      runFaultControl(() => {
        for (const one of served) act(sandbox[one].faultControls, person)
      })
      await awaitWebhooks(sandbox, served)
      const isServed = (one: Person) => served.includes(one.provider)
      const touched = people.filter(isServed)
      const refreshed = challenges ? null : await refreshAdopted(options, touched)
      await noteCommand(options, {
        action: `sandbox.${command}`,
        details: { person, providers: served },
        people: touched,
        challenges,
      })
      const connections = refreshed ?? (await describeAdopted(options, touched))
      return { person, providers: served, connections }
    })
  }

  addVerb('login.break', ({ login }, person) => login?.breakIt(person))
  addVerb('login.mend', ({ login }, person) => login?.mend(person))
  // No provider reports a pending second factor for an existing link, so only our own store has it (reading
  // R20b).
  addVerb('login.challenge', () => {}, { challenges: true })
  addVerb('consent.expire', ({ consent }, person) => consent.expire(person))
  addVerb('consent.revoke', ({ consent }, person) => consent.revoke(person))
  addVerb('consent.renew', ({ consent }, person) => consent.renew(person))
  addVerb('permission.withdraw', ({ ownApp }, person) => ownApp?.withdrawPermission(person))
  addVerb('permission.grant', ({ ownApp }, person) => ownApp?.grantPermission(person))
  addVerb('address.bar', ({ ownApp }, person) => ownApp?.bar(person))
  addVerb('address.admit', ({ ownApp }, person) => ownApp?.admit(person))
}

function addProviderRoutes(admin: FastifyInstance, options: ControlOptions): void {
  const { sandbox } = options

  admin.put<ProviderPath>('/sandbox/providers/:provider/latency', async (request) => {
    const provider = readProvider(request.params.provider)
    const { ms } = parseInput(LatencyBody, request.body)
    sandbox[provider].latencyMs = ms
    await noteCommand(options, {
      action: 'sandbox.latency',
      details: { provider, ms },
      people: [],
    })
    return { provider, ms }
  })

  admin.post<ProviderPath>('/sandbox/providers/:provider/failures', async (request, reply) => {
    const provider = readProvider(request.params.provider)
    const { status, times, retryAfter } = parseInput(FailureBody, request.body)
    const emulator = sandbox[provider]
    emulator.clearFaults()
    emulator.addFault({
      when: (asked) => emulator.faultControls.isApiCall(asked),
      ...(times === undefined ? {} : { times }),
      does: { kind: 'reply', reply: emulator.faultControls.refusal(status, retryAfter ?? null) },
    })
    await noteCommand(options, {
      action: 'sandbox.fail',
      details: { provider, status },
      people: [],
    })
    const reported = { provider, status, times: times ?? null, retryAfter: retryAfter ?? null }
    return reply.code(201).send(reported)
  })

  admin.post('/sandbox/reset', async (request) => {
    parseInput(EmptyInput, request.body)
    for (const provider of sandboxProviders) {
      const emulator = sandbox[provider]
      emulator.latencyMs = 0
      emulator.clearFaults()
      senderOf(emulator)?.reset()
      emulator.faultControls.reset()
    }
    const people = sandboxProviders.flatMap((provider) =>
      Object.keys(sandbox[provider].people).map((name) => toPerson(sandbox, provider, name)),
    )
    const connections = await refreshAdopted(options, people)
    const details = { people: 'everybody' } as const
    await noteCommand(options, { action: 'sandbox.reset', details, people })
    return { connections }
  })
}
