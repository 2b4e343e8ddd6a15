/**
 * The agents' door, in the order of its steps: host name, method, pre-auth limit, size, caller, JSON-RPC, plan, then
 * the protocol. Every answer has the rate headers (readings R6, R28); HTTP errors use the REST envelope.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { isJSONRPCRequest, type JSONRPCMessage } from '@modelcontextprotocol/server'
import { apiError } from '#contract/errors.ts'
import { type Bucket, listConnections, type OperationName } from '#contract/operations.ts'
import { toolOperations } from '#contract/tool-descriptions.ts'
import type { Admit } from '#gate/admit.ts'
import type { Gate } from '#gate/gate.ts'
import type { Throttle } from '#gate/throttle.ts'
import type { Clock } from '#kernel/time.ts'
import type { ReadRecord } from '#telemetry/request-record.ts'
import { makeAllowedHosts, type PublicOrigins } from '../allowed-hosts.ts'
import { ClientDisconnected, type IsTrustedProxy, makeApplicantReader } from '../client.ts'
import { toApiError } from '../refusal.ts'
import { readBody } from './body.ts'
import { makeCallTool } from './call-tool.ts'
import { beginExchange, type Exchange } from './exchange.ts'
import { type Messages, parseMessages, RpcError } from './messages.ts'
import { makeProtocol, type Protocol } from './protocol.ts'
import { type McpWriter, makeMcpWriter } from './reply.ts'

export interface McpLaneOptions {
  readonly gate: Gate
  readonly throttle: Pick<Throttle, 'peek'>
  readonly admit: Admit
  readonly clock: Clock
  readonly isTrustedProxy: IsTrustedProxy
  /** The public origins; called late, since they are known only after the server listens. */
  readonly origins: () => PublicOrigins
  readonly isLoopback: boolean
  /** `MCP_MAX_ANSWER_BYTES`. */
  readonly maxAnswerBytes: number
  readonly version: string
  readonly observe: (record: ReadRecord) => void
}

export interface McpLane {
  serve(request: IncomingMessage, response: ServerResponse): Promise<void>
  close(): Promise<void>
}

const buckets: ReadonlyMap<string, Bucket> = new Map<OperationName, Bucket>(
  toolOperations.map((operation) => [operation.name, operation.bucket]),
)

/** Dependencies of the lane; the same for every request. */
interface Lane extends McpLaneOptions {
  readonly clientOf: ReturnType<typeof makeApplicantReader>
  readonly names: ReturnType<typeof makeAllowedHosts>
  readonly writer: McpWriter
  readonly protocol: Protocol
}

export function makeMcpLane(options: McpLaneOptions): McpLane {
  const protocol = makeProtocol({
    version: options.version,
    call: makeCallTool(options),
    url: () => `${options.origins().mcp}/mcp`,
  })
  const lane: Lane = {
    ...options,
    clientOf: makeApplicantReader(options.isTrustedProxy),
    names: makeAllowedHosts(options),
    writer: makeMcpWriter(options.clock, () => options.origins().mcp),
    protocol,
  }
  return {
    serve: (request, response) => serve(lane, request, response),
    close: () => protocol.close(),
  }
}

async function serve(lane: Lane, request: IncomingMessage, response: ServerResponse) {
  const exchange = beginExchange(request, response)
  let outcome: Outcome
  try {
    const answer = await judge(lane, request, exchange)
    exchange.disconnectSignal.throwIfAborted()
    await lane.writer.pass(response, exchange, answer)
    outcome = { status: answer.status, error: answer.status >= 500 ? exchange.fault : null }
  } catch (thrown) {
    outcome = refuse(lane.writer, request, exchange, { response, thrown })
  }
  // Every tool call writes its own record.
  if (exchange.calls > 0 && outcome.status < 500) return
  lane.observe({
    door: 'mcp',
    requestId: exchange.requestId,
    operation: null,
    status: outcome.status,
    cache: 'BYPASS',
    durationMs: performance.now() - exchange.startedAt,
    caller: exchange.caller,
    error: outcome.error,
  })
}

async function judge(lane: Lane, request: IncomingMessage, exchange: Exchange): Promise<Response> {
  const { gate } = lane
  const client = lane.clientOf(request)

  // 1 The host name, 2 the method: these refusals cost no point.
  const problem = findProblem(lane, request)
  if (problem !== null) {
    exchange.window = await lane.throttle.peek(client.visitor)
    throw apiError(problem)
  }

  // 3 The pre-auth limit and the caller, 4 the size. The caller is identified even without a readable body: a good key
  // gets its point back, a bad one does not (reading R6). A body that cannot be read is reported to unidentified
  // clients too.
  const admission = await lane.admit.admit(client)
  if (admission.kind !== 'in') exchange.window = admission.window
  if (admission.kind === 'limited') throw admission.error
  const body = await readBody(request)
  if (admission.kind === 'unknown') throw body instanceof Error ? body : admission.error
  const { caller } = admission
  exchange.caller = caller

  // 5 JSON-RPC; from here on the rate headers describe the caller's bucket.
  const reading = body instanceof Error ? body : read(request, body)
  exchange.window = await gate.peek(caller, bucketOf(reading))
  if (reading instanceof Error) throw reading
  exchange.isBatch = reading.isBatch

  // 6 The plan, for every message (reading R28): the requirement of the least demanding tool.
  gate.entitle(caller, listConnections)

  // 7 The protocol. Cancellations are dropped: no earlier request can still run, and a call cancelled within its own
  // batch would never be answered.
  const standing = reading.messages.filter((message) => !isCancellation(message))
  const [first] = standing
  if (first === undefined) return new Response(null, { status: 202 })
  const payload = reading.isBatch ? standing : first
  const answer = await lane.protocol.answer(exchange, caller, request, payload)
  if (exchange.refusal !== null) throw exchange.refusal
  return answer
}

/** The Host must be one of ours, and so must the Origin when a page sends the request. */
function findProblem({ names }: Lane, request: IncomingMessage) {
  const { origin } = request.headers
  const isOurs = names.isOwnHost(request) && (origin === undefined || names.isOwnName(origin))
  if (!isOurs) return 'foreign_host'
  return request.method === 'POST' ? null : 'method_not_allowed'
}

/** What is recorded of a finished request. */
interface Outcome {
  readonly status: number
  readonly error: unknown
}

interface Failure {
  readonly response: ServerResponse
  readonly thrown: unknown
}

/** Writes the refusal, unless the client has disconnected. */
function refuse(
  writer: McpWriter,
  request: IncomingMessage,
  exchange: Exchange,
  { response, thrown }: Failure,
): Outcome {
  // A body that was not read completely is not read further: the connection ends with the answer.
  if (!request.complete) response.shouldKeepAlive = false
  if (exchange.disconnectSignal.aborted || thrown instanceof ClientDisconnected) {
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

function read(request: IncomingMessage, bytes: Uint8Array): Messages | RpcError {
  try {
    return parseMessages(request.headers['content-type'], bytes)
  } catch (error) {
    if (error instanceof RpcError) return error
    throw error
  }
}

/**
 * The rate headers show the operation's bucket for a single call, the cheap bucket for everything else (reading R28).
 */
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
