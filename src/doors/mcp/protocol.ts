/**
 * The protocol library and the two eras that it supports (2026-07-28 and 2025-*), both served statelessly:
 * one server instance per request, no session, no stream, no change notification. What a tool call does is
 * defined elsewhere.
 */
import type { IncomingMessage } from 'node:http'
import {
  type CallToolResult,
  createMcpHandler,
  isLegacyRequest,
  type JSONRPCMessage,
  ProtocolError,
  ProtocolErrorCode,
  type Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import type { Caller } from '#auth/caller.ts'
import {
  describeTools,
  listTools,
  type ToolOperation,
  toolNameOf,
} from '#contract/tool-descriptions.ts'
import { toolInstructions } from '#contract/tools.ts'
import { hourMs } from '#kernel/time.ts'
import type { CallTool, ResultForm } from './call-tool.ts'
import { CheckedServer, type Era } from './checked-server.ts'
import type { McpExchange } from './exchange.ts'
import { describeAnswer, describeError, toResult } from './result.ts'

export interface ProtocolOptions {
  readonly info: ServerInfo
  readonly call: CallTool
  /** `MCP_MAX_ANSWER_BYTES`. */
  readonly maxAnswerBytes: number
  /** `MCP_EXTRA_TOOLS`. */
  readonly hasExtraTools: boolean
  /** `{mcp_url}/mcp`. */
  readonly url: () => string
}

export interface ServerInfo {
  readonly name: string
  readonly title: string
  readonly version: string
}

export interface Protocol {
  /** Answers the messages of one request; rejects with `disconnectSignal`'s reason when the client leaves. */
  answer(
    exchange: McpExchange,
    caller: Caller,
    request: IncomingMessage,
    payload: JSONRPCMessage | readonly JSONRPCMessage[],
  ): Promise<Response>
  close(): Promise<void>
}

/** The list changes only with a release; a client may keep it for an hour. */
const listHint = { ttlMs: hourMs, cacheScope: 'public' } as const
/** Maximum open change streams per client; each is closed at once, since nothing changes. */
const maxSubscriptions = 32
/** The request headers that the protocol reads. */
const protocolHeaders = ['content-type', 'mcp-protocol-version', 'mcp-method', 'mcp-name'] as const
/** The library requires a validator for elicitation, which we never send. */
const noValidator = {
  getValidator: () => {
    throw new Error('this server sends no requests to clients')
  },
}

export function makeProtocol(options: ProtocolOptions): Protocol {
  const { hasExtraTools } = options
  const tools = describeTools(hasExtraTools).map((tool) => ({ ...tool }))
  const byName = new Map(
    listTools(hasExtraTools).map((operation) => [toolNameOf(operation), operation]),
  )
  const served = new WeakMap<Request, () => Server>()
  const form = makeResultForm(options.maxAnswerBytes)

  function makeServer(era: Era, exchange: McpExchange, caller: Caller): Server {
    const server = new CheckedServer(era, options.info, {
      capabilities: { tools: { listChanged: false } },
      instructions: toolInstructions,
      cacheHints: { 'tools/list': listHint, 'server/discover': listHint },
      jsonSchemaValidator: noValidator,
    })
    server.onerror = (error) => {
      exchange.fault = error
    }
    server.setRequestHandler('tools/list', ({ params }) => {
      if (params?.cursor !== undefined) throw invalidParams('there is one page: no cursor is valid')
      return { tools }
    })
    server.setRequestHandler('tools/call', ({ params }): Promise<CallToolResult> => {
      const operation = findTool(byName, params.name)
      const call = { operation, given: params.arguments ?? {} }
      return exchange.inTurn(() => options.call(exchange, caller, call, form))
    })
    return server
  }

  const modern = createMcpHandler(
    ({ requestInfo }) => {
      const make = requestInfo === undefined ? undefined : served.get(requestInfo)
      if (make === undefined) throw new Error('a request bypassed the lane')
      return make()
    },
    { legacy: 'reject', maxSubscriptions },
  )

  async function answerLegacy(server: Server, request: Request, payload: unknown) {
    const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
    await server.connect(transport)
    try {
      return await transport.handleRequest(request, { parsedBody: payload })
    } finally {
      void server.close()
    }
  }

  return {
    async answer(exchange, caller, incoming, payload) {
      const signal = exchange.disconnectSignal()
      const request = toRequest(options.url(), incoming, signal)
      const given = { parsedBody: payload }
      if (!(await isLegacyRequest(request, payload))) {
        served.set(request, () => makeServer('2026', exchange, caller))
        return modern.fetch(request, given)
      }
      const server = makeServer('2025', exchange, caller)
      // A closed transport of that era never settles: the signal ends the wait when the client disconnects.
      return leaving(signal, answerLegacy(server, request, payload), () => server.close())
    },
    close: () => modern.close(),
  }
}

function makeResultForm(maxBytes: number): ResultForm<CallToolResult> {
  return {
    answer(operation, answer, about) {
      const described = describeAnswer(operation, answer, { maxBytes, ...about })
      return 'limit' in described ? described : { result: toResult(described) }
    },
    error: (error, requestId) => toResult(describeError(error, requestId)),
  }
}

function findTool(byName: ReadonlyMap<string, ToolOperation>, name: string): ToolOperation {
  const operation = byName.get(name)
  if (operation !== undefined) return operation
  throw invalidParams('Unknown tool; tools/list names them all')
}

function invalidParams(message: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message)
}

function toRequest(url: string, incoming: IncomingMessage, signal: AbortSignal): Request {
  // JSON whatever the client accepts (RFC 9110 §12.5.1 allows it): the library would refuse a plain `curl`.
  const headers = new Headers({ accept: 'application/json, text/event-stream' })
  for (const name of protocolHeaders) {
    const value = incoming.headers[name]
    if (typeof value === 'string') headers.set(name, value)
  }
  return new Request(url, { method: 'POST', headers, signal })
}

/** The work's outcome, or the signal's reason as soon as it is aborted; then `stop` is called. */
async function leaving<T>(
  signal: AbortSignal,
  work: Promise<T>,
  stop: () => Promise<void>,
): Promise<T> {
  signal.throwIfAborted()
  let leave: () => void = () => undefined
  const left = new Promise<never>((_resolve, reject) => {
    leave = () => reject(signal.reason)
    signal.addEventListener('abort', leave, { once: true })
  })
  try {
    return await Promise.race([work, left])
  } catch (error) {
    if (signal.aborted) void stop()
    throw error
  } finally {
    signal.removeEventListener('abort', leave)
  }
}
