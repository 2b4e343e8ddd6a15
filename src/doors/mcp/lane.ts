/**
 * The agents' door, in the order of its steps: host name, method, pre-auth limit, size, caller, JSON-RPC,
 * plan, then the tool. A plain call of one tool is answered here; the protocol library answers everything
 * else. Every answer has the rate headers (readings R6, R28); HTTP errors use the REST envelope.
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import { isJSONRPCRequest, type JSONRPCMessage } from '@modelcontextprotocol/server'
import type { Caller } from '#auth/caller.ts'
import { apiError } from '#contract/errors.ts'
import type { Bucket } from '#contract/operations.ts'
import type { Origins } from '#contract/origins.ts'
import { toolNameOf, toolOperations } from '#contract/tool-descriptions.ts'
import type { Admit } from '#gate/admit.ts'
import type { Gate } from '#gate/gate.ts'
import type { Throttle } from '#gate/throttle.ts'
import type { Clock } from '#kernel/time.ts'
import type { ReadRecord } from '#telemetry/request-record.ts'
import { makeAllowedHosts } from '../allowed-hosts.ts'
import { ClientDisconnected, type IsTrustedProxy, makeClientReader } from '../client.ts'
import { readBody } from '../listener/request-body.ts'
import { toApiError } from '../refusal.ts'
import { type CallTool, makeCallTool, type ResultForm } from './call-tool.ts'
import { beginExchange, type McpExchange } from './exchange.ts'
import { type Frame, makeEndings, makeFrames } from './frames.ts'
import { type Messages, parseBody, RpcError, toMessages } from './messages.ts'
import { makeReadPlainCall, type PlainCall, type ReadPlainCall } from './plain-call.ts'
import { makeProtocol, type Protocol } from './protocol.ts'
import { type McpWriter, makeMcpWriter } from './reply.ts'

export interface McpLaneOptions {
  readonly gate: Gate
  readonly throttle: Pick<Throttle, 'peek'>
  readonly admit: Admit
  readonly clock: Clock
  readonly isTrustedProxy: IsTrustedProxy
  /** The public origins; called late, since they are known only after the server listens. */
  readonly origins: () => Origins
  readonly isLoopback: boolean
  /** `REQUEST_TIMEOUT_MS`. */
  readonly requestTimeoutMs: number
  /** `MCP_MAX_ANSWER_BYTES`. */
  readonly maxAnswerBytes: number
  /** `MCP_EXTRA_TOOLS`. */
  readonly hasExtraTools: boolean
  readonly version: string
  /** Which calls the library need not judge; a test compares its answers by letting it judge all. */
  readonly readPlainCall?: ReadPlainCall
  readonly observe: (record: ReadRecord) => void
}

export interface McpLane {
  serve(request: IncomingMessage, response: ServerResponse): Promise<void>
  close(): Promise<void>
}

const buckets: ReadonlyMap<string, Bucket> = new Map<string, Bucket>(
  toolOperations.map((operation) => [toolNameOf(operation), operation.bucket]),
)

/** Dependencies of the lane; the same for every request. */
interface Lane extends McpLaneOptions {
  readonly clientOf: ReturnType<typeof makeClientReader>
  readonly names: ReturnType<typeof makeAllowedHosts>
  readonly writer: McpWriter
  readonly protocol: Protocol
  readonly readPlainCall: ReadPlainCall
  readonly call: CallTool
  readonly frames: ResultForm<Frame>
  readonly endingOf: ReturnType<typeof makeEndings>
}

export function makeMcpLane(options: McpLaneOptions): McpLane {
  const { maxAnswerBytes, hasExtraTools, origins } = options
  const info = { name: 'tributary', title: 'Tributary', version: options.version }
  const call = makeCallTool(options)
  const url = () => `${origins().mcp}/mcp`
  const protocol = makeProtocol({ info, call, maxAnswerBytes, hasExtraTools, url })
  const lane: Lane = {
    ...options,
    clientOf: makeClientReader(options.isTrustedProxy),
    names: makeAllowedHosts(options),
    writer: makeMcpWriter(options.clock, () => origins().mcp),
    protocol,
    readPlainCall: options.readPlainCall ?? makeReadPlainCall(hasExtraTools),
    call,
    frames: makeFrames(maxAnswerBytes),
    endingOf: makeEndings(info),
  }
  return {
    serve: (request, response) => serve(lane, request, response),
    close: () => protocol.close(),
  }
}

async function serve(lane: Lane, request: IncomingMessage, response: ServerResponse) {
  const exchange = beginExchange(request, response, lane.requestTimeoutMs)
  let outcome: Outcome
  try {
    outcome = await answer(lane, request, response, exchange)
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

async function answer(
  lane: Lane,
  request: IncomingMessage,
  response: ServerResponse,
  exchange: McpExchange,
): Promise<Outcome> {
  const { caller, body } = await admit(lane, request, exchange)
  exchange.caller = caller

  // 5 JSON-RPC; from here on the rate headers describe the caller's bucket.
  const value = body instanceof Error ? body : read(() => parseBody(contentTypeOf(request), body))
  const plain = value instanceof Error ? null : lane.readPlainCall(request.headers, value)
  if (plain !== null) {
    await answerPlainCall(lane, response, exchange, { caller, plain })
    return { status: 200, error: null }
  }
  const messages = value instanceof Error ? value : read(() => toMessages(value))
  const passed = await askLibrary(lane, request, exchange, { caller, messages })
  exchange.disconnectSignal().throwIfAborted()
  await lane.writer.pass(response, exchange, passed)
  return { status: passed.status, error: passed.status >= 500 ? exchange.fault : null }
}

/** A known caller, and the body or why there is none. */
interface Admitted {
  readonly caller: Caller
  readonly body: Uint8Array | Error
}

async function admit(
  lane: Lane,
  request: IncomingMessage,
  exchange: McpExchange,
): Promise<Admitted> {
  const client = lane.clientOf(request)

  // 1 The host name, 2 the method: these refusals cost no point.
  const problem = findProblem(lane, request)
  if (problem !== null) {
    exchange.window = await lane.throttle.peek(client.visitor)
    throw apiError(problem)
  }

  // 3 The pre-auth limit and the caller, 4 the size. The caller is identified even without a readable body: a
  // good key gets its point back, a bad one does not (reading R6). A body that cannot be read is reported to
  // unidentified clients too.
  const known = lane.admit.recall(client)
  if (known !== null) return { caller: known, body: await readMessage(request) }
  const admission = await lane.admit.admit(client)
  if (admission.kind !== 'in') exchange.window = admission.window
  if (admission.kind === 'limited') throw admission.error
  const body = await readMessage(request)
  if (admission.kind === 'unknown') throw body instanceof Error ? body : admission.error
  return { caller: admission.caller, body }
}

/** An error is returned, not thrown: identifying the caller settles the pre-auth point. */
async function readMessage(request: IncomingMessage): Promise<Uint8Array | Error> {
  const body = await readBody(request)
  return body === 'too_large' ? apiError('body_too_large') : body
}

interface Plain {
  readonly caller: Caller
  readonly plain: PlainCall
}

/** A call of one tool that the library need not judge. */
async function answerPlainCall(
  lane: Lane,
  response: ServerResponse,
  exchange: McpExchange,
  { caller, plain }: Plain,
): Promise<void> {
  const { gate, call, frames, writer } = lane
  // 6 The plan, for every message (reading R28).
  const refusal = gate.entitle(caller)
  if (refusal !== null) {
    exchange.window = await gate.peek(caller, plain.operation.bucket)
    throw refusal
  }
  // 7 The tool.
  const frame = await call(exchange, caller, plain, frames)
  if (response.destroyed) throw new ClientDisconnected('the client went away')
  if (exchange.refusal !== null) throw exchange.refusal
  writer.frame(response, exchange, frame, lane.endingOf(plain.era, plain.id))
}

interface Asked {
  readonly caller: Caller
  readonly messages: Messages | Error
}

async function askLibrary(
  lane: Lane,
  request: IncomingMessage,
  exchange: McpExchange,
  { caller, messages }: Asked,
): Promise<Response> {
  const { gate } = lane
  exchange.window = await gate.peek(caller, bucketOf(messages))
  if (messages instanceof Error) throw messages
  exchange.isBatch = messages.isBatch

  // 6 The plan, for every message (reading R28): any plan with API access, as no tool needs less.
  const refusal = gate.entitle(caller)
  if (refusal !== null) throw refusal

  // 7 The protocol. Cancellations are dropped: one within its own batch would never be answered.
  const standing = messages.messages.filter((message) => !isCancellation(message))
  const [first] = standing
  if (first === undefined) return new Response(null, { status: 202 })
  const payload = messages.isBatch ? standing : first
  const passed = await lane.protocol.answer(exchange, caller, request, payload)
  if (exchange.refusal !== null) throw exchange.refusal
  return passed
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
  exchange: McpExchange,
  { response, thrown }: Failure,
): Outcome {
  // A body that was not read completely is not read further: the connection ends with the answer.
  if (!request.complete) response.shouldKeepAlive = false
  if (exchange.disconnectSignal().aborted || thrown instanceof ClientDisconnected) {
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

/** What it reads, or why it cannot be read. */
function read<Value>(parse: () => Value): Value | RpcError {
  try {
    return parse()
  } catch (error) {
    if (error instanceof RpcError) return error
    throw error
  }
}

function contentTypeOf({ headers }: IncomingMessage): string | undefined {
  return headers['content-type']
}

/** The rate headers show the operation's bucket for a single call, else the cheap bucket (reading R28). */
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
