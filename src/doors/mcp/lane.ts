/**
 * The agents' door, top to bottom: names, method, pre-auth limit, size, caller, JSON-RPC, plan, then the protocol. Every
 * answer has the rate headers (readings R6, R28); what HTTP itself refuses has the REST envelope.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { isJSONRPCRequest, type JSONRPCMessage } from '@modelcontextprotocol/server'
import type { Caller } from '#auth/caller.ts'
import { apiError } from '#contract/errors.ts'
import { type Bucket, listConnections, type OperationName } from '#contract/operations.ts'
import { toolOperations } from '#contract/tool-descriptions.ts'
import type { Gate } from '#gate/gate.ts'
import type { IdentifyAgent } from '#gate/identify-agent.ts'
import { type Reservation, settleUnidentified, type Throttle } from '#gate/throttle.ts'
import type { Clock } from '#kernel/time.ts'
import { ClientGone, type IsTrustedProxy, makeClients } from '../client.ts'
import { makeOwnNames, type PublicOrigins } from '../own-names.ts'
import { rateLimited, toApiError } from '../refusal.ts'
import { readBody } from './body.ts'
import { type McpEvent, makeCallTool } from './call-tool.ts'
import { beginExchange, type Exchange } from './exchange.ts'
import { type Messages, parseMessages, RpcError } from './messages.ts'
import { makeProtocol } from './protocol.ts'
import { makeMcpWriter } from './reply.ts'

export interface McpLaneOptions {
  readonly gate: Gate
  readonly throttle: Throttle
  readonly identify: IdentifyAgent
  readonly clock: Clock
  readonly isTrustedProxy: IsTrustedProxy
  /** The public origins; asked late, since they are known once the server listens. */
  readonly origins: () => PublicOrigins
  readonly isLoopback: boolean
  /** `MCP_MAX_ANSWER_BYTES`. */
  readonly maxAnswerBytes: number
  readonly version: string
  readonly observe: (event: McpEvent) => void
}

export interface McpLane {
  serve(request: IncomingMessage, response: ServerResponse): Promise<void>
  close(): Promise<void>
}

/** What stands at the door: credentials, the point they have reserved, and what could be read of the body. */
interface Entry {
  readonly authorization: string | undefined
  readonly reservation: Reservation
  readonly body: Uint8Array | Error
}

const buckets: ReadonlyMap<string, Bucket> = new Map<OperationName, Bucket>(
  toolOperations.map((operation) => [operation.name, operation.bucket]),
)

export function makeMcpLane(options: McpLaneOptions): McpLane {
  const { gate, throttle } = options
  const clientOf = makeClients(options.isTrustedProxy)
  const names = makeOwnNames(options)
  const writer = makeMcpWriter(options.clock, () => options.origins().mcp)
  const protocol = makeProtocol({
    version: options.version,
    call: makeCallTool(options),
    url: () => `${options.origins().mcp}/mcp`,
  })

  /** By a name of ours, and from a page of ours where it comes from a page. */
  function isAskedByName(request: IncomingMessage): boolean {
    const { origin } = request.headers
    return names.isOwnHost(request) && (origin === undefined || names.isOwnName(origin))
  }

  async function judge(request: IncomingMessage, exchange: Exchange): Promise<Response> {
    const { authorization, visitor } = clientOf(request)

    // 1 The name we are called by, 2 the method: they consume nothing.
    const problem = !isAskedByName(request)
      ? 'foreign_host'
      : request.method !== 'POST'
        ? 'method_not_allowed'
        : null
    if (problem !== null) {
      exchange.window = await throttle.peek(visitor)
      throw apiError(problem)
    }

    // 3 The pre-auth limit, 4 the size, 5 the caller. Who it is is asked even when there is no body to be had: a good
    // key owes no point for it, a bad one keeps it (reading R6).
    const reservation = await throttle.reserve(visitor)
    exchange.window = reservation.state
    if (!reservation.allowed) throw rateLimited(reservation.state)
    const body = await readBody(request)
    const caller = await identify(request, { authorization, reservation, body })
    exchange.caller = caller

    // 6 JSON-RPC; from here on the headers are those of the caller's bucket.
    const reading = body instanceof Error ? body : read(request, body)
    exchange.window = await gate.peek(caller, bucketOf(reading))
    if (reading instanceof Error) throw reading
    exchange.isBatch = reading.isBatch

    // 7 The plan, whatever is asked (reading R28): what the least of the tools needs, all need.
    gate.entitle(caller, listConnections)
    return pass(request, exchange, caller, reading)
  }

  /** Settles the reservation either way. A body that cannot be read is told to strangers too, before anything else. */
  async function identify(request: IncomingMessage, entry: Entry): Promise<Caller> {
    const { authorization, reservation, body } = entry
    try {
      const caller = await options.identify(authorization, request.socket)
      reservation.giveBack()
      return caller
    } catch (error) {
      settleUnidentified(reservation, error)
      throw body instanceof Error ? body : error
    }
  }

  async function pass(
    request: IncomingMessage,
    exchange: Exchange,
    caller: Caller,
    { isBatch, messages }: Messages,
  ): Promise<Response> {
    // Nothing of an earlier request is left to cancel, and a call cancelled in its own batch would never be answered.
    const standing = messages.filter((message) => !isCancellation(message))
    const [first] = standing
    if (first === undefined) return new Response(null, { status: 202 })
    const answer = await protocol.answer(exchange, caller, request, isBatch ? standing : first)
    if (exchange.refusal !== null) throw exchange.refusal
    return answer
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const exchange = beginExchange(request, response)
    let status = 499
    let error: unknown = null
    try {
      const answer = await judge(request, exchange)
      exchange.departure.throwIfAborted()
      status = answer.status
      if (status >= 500) error = exchange.fault
      await writer.pass(response, exchange, answer)
    } catch (thrown) {
      ;({ status, error } = refuse(request, response, exchange, thrown))
    }
    // A call has told about itself.
    if (exchange.calls > 0 && status < 500) return
    options.observe({
      requestId: exchange.requestId,
      operation: null,
      status,
      cache: 'BYPASS',
      durationMs: performance.now() - exchange.startedAt,
      caller: exchange.caller,
      error,
    })
  }

  function refuse(
    request: IncomingMessage,
    response: ServerResponse,
    exchange: Exchange,
    thrown: unknown,
  ): { status: number; error: unknown } {
    // A body that was not read to its end is not read any more: the connection ends with the answer.
    if (!request.complete) response.shouldKeepAlive = false
    if (exchange.departure.aborted || thrown instanceof ClientGone) {
      return { status: 499, error: apiError('client_disconnected', { cause: thrown }) }
    }
    if (thrown instanceof RpcError) {
      writer.refuseRpc(response, exchange, thrown)
      return { status: thrown.status, error: thrown }
    }
    const error = toApiError(thrown)
    writer.refuse(response, exchange, error)
    return { status: error.status, error }
  }

  return { serve, close: () => protocol.close() }
}

function read(request: IncomingMessage, bytes: Uint8Array): Messages | RpcError {
  try {
    return parseMessages(request.headers['content-type'], bytes)
  } catch (error) {
    if (error instanceof RpcError) return error
    throw error
  }
}

/** A single call shows its operation's bucket, everything else the cheap one (reading R28). */
function bucketOf(reading: Messages | Error): Bucket {
  if (reading instanceof Error || reading.isBatch) return 'cheap'
  const [message] = reading.messages
  const { params } = isJSONRPCRequest(message) && message.method === 'tools/call' ? message : {}
  const name = params?.name
  return (typeof name === 'string' ? buckets.get(name) : undefined) ?? 'cheap'
}

function isCancellation(message: JSONRPCMessage): boolean {
  return 'method' in message && message.method === 'notifications/cancelled'
}
