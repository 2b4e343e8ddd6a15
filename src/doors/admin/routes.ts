/**
 * The routes of the admin API, from its table: parses the path's ids and the query, calls the handler, and
 * answers with the row's status. Where replies are checked, each is parsed with its schema.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { ErrorName } from '#contract/errors.ts'
import { apiError } from '#contract/errors.ts'
import { EmptyInput, parseInput } from '#contract/input.ts'
import { parseUuid } from '#kernel/ids.ts'
import { makeConnectionHandlers } from './connections.ts'
import { makeConsumerHandlers } from './consumers.ts'
import type { AdminHandlers } from './handler.ts'
import { makeInvitationHandlers } from './invitations.ts'
import { makeKeyHandlers } from './keys.ts'
import type { AdminDoorOptions } from './options.ts'
import { makeOwnRowHandlers } from './own-rows.ts'
import { makeProgramHandlers } from './programs.ts'
import { makeServiceHandlers } from './service.ts'
import { connectionNotFound } from './subjects.ts'
import { type AdminCall, readRoute, replyStatusOf } from './table/call.ts'
import { adminCallList } from './table/table.ts'
import { makeUserHandlers } from './users.ts'
import { makeWebhookHandlers } from './webhooks.ts'

/** One handler for each row; a missing one does not compile. */
const makeHandlers = (options: AdminDoorOptions): AdminHandlers => ({
  ...makeUserHandlers(options),
  ...makeInvitationHandlers(options),
  ...makeKeyHandlers(options),
  ...makeProgramHandlers(options),
  ...makeConnectionHandlers(options),
  ...makeWebhookHandlers(options),
  ...makeConsumerHandlers(options),
  ...makeOwnRowHandlers(options),
  ...makeServiceHandlers(options),
})

const prefix = '/admin'

/** `admin`: the scope below `/admin` that is guarded by the token. */
export function addAdminRoutes(admin: FastifyInstance, options: AdminDoorOptions): void {
  const handlers = makeHandlers(options)
  for (const [name, call] of adminCallList) {
    // The table and the handlers have the same keys; the compiler cannot follow one key through both.
    const handle = handlers[name] as (asked: unknown, reply: unknown) => Promise<unknown>
    const { method, path } = readRoute(call)
    admin.route({
      method,
      url: path.slice(prefix.length).replace(/\{(\w+)\}/g, ':$1'),
      async handler(request, reply) {
        const answer = await handle(readRequest(call, request), reply)
        if (options.checkReplies) checkReply(call, answer)
        return reply.code(replyStatusOf(call)).send(answer)
      },
    })
  }
}

/** A malformed id is answered like an unknown one. */
const idErrors: Readonly<Record<string, ErrorName>> = {
  key: 'key_not_found',
  program: 'program_not_found',
  connection: 'connection_not_found',
  webhook: 'webhook_not_found',
  delivery: 'delivery_not_found',
  consumer: 'consumer_not_found',
}

function readRequest(call: AdminCall, request: FastifyRequest): Readonly<Record<string, unknown>> {
  const params = Object.entries(request.params as Readonly<Record<string, string>>)
  const values = params.map(([name, text]) => [name, readValue(name, text)])
  return { ...Object.fromEntries(values), ...readInput(call, request) }
}

function readValue(name: string, text: string): string {
  const error = idErrors[name]
  if (error === undefined) return text
  const id = parseUuid(text)
  if (id === null) throw error === 'connection_not_found' ? connectionNotFound() : apiError(error)
  return id
}

/**
 * @throws ApiError `invalid_params` with details, also for a misspelt parameter and for a body that is not
 *   expected.
 */
function readInput({ input }: AdminCall, request: FastifyRequest) {
  if (input === undefined) {
    if (request.method === 'POST') parseInput(EmptyInput, request.body)
    return {}
  }
  if (input.place === 'body') return { body: request.body }
  return { query: parseInput(input.schema, { ...(request.query as object) }) }
}

/** @throws Error, which is answered as a 500. */
function checkReply({ reply }: AdminCall, answer: unknown): void {
  const schema = reply ?? z.undefined()
  schema.parse(answer)
}
