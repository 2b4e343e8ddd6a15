/**
 * Parses bytes into JSON-RPC messages (JSON-RPC 2.0 §4–6; contract, Agents: batches of at most 10). What is
 * refused here is answered as JSON-RPC with HTTP 400 or 415. The protocol library interprets the messages.
 */
import {
  INVALID_REQUEST,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResponse,
  isJsonContentType,
  type JSONRPCMessage,
  PARSE_ERROR,
} from '@modelcontextprotocol/server'

/** Maximum entries of a batch (contract, Limits). */
const maxEntries = 10
/** How deep a message may be nested outside of a tool's arguments: the library's schemas are recursive. */
const maxLevels = 64
/** The library's own code for an unsupported media type. */
const unsupportedMedia = -32_000

/** A refusal with its HTTP status; `id` is the request's id where it can be read. */
export class RpcError extends Error {
  override readonly name = 'RpcError'
  readonly status: number
  readonly code: number
  readonly id: string | number | null

  constructor(status: number, code: number, message: string, id: string | number | null = null) {
    super(message)
    this.status = status
    this.code = code
    this.id = id
  }
}

export type Messages =
  | { readonly isBatch: false; readonly messages: readonly [JSONRPCMessage] }
  | { readonly isBatch: true; readonly messages: readonly JSONRPCMessage[] }

/** Reads a body as JSON, whatever it means; throws RpcError. */
export function parseBody(contentType: string | undefined, bytes: Uint8Array): unknown {
  if (!isJsonContentType(contentType ?? null)) {
    throw new RpcError(415, unsupportedMedia, 'Content-Type must be application/json')
  }
  const value = parseJson(bytes)
  const isTooDeep = Array.isArray(value) ? value.some(isNested) : isNested(value)
  if (!isTooDeep) return value
  throw new RpcError(400, INVALID_REQUEST, 'Invalid Request: nested too deeply', idOf(value))
}

/** Whether a message is nested too deeply. Arguments do not count: only known ones are read. */
function isNested(message: unknown): boolean {
  if (exceeds(message, maxLevels, 'params')) return true
  if (typeof message !== 'object' || message === null || !('params' in message)) return false
  return exceeds(message.params, maxLevels, 'arguments')
}

/** `skipped` names a member of the value itself that is not examined. */
function exceeds(value: unknown, levels: number, skipped: string | null = null): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  const members = value as Readonly<Record<string, unknown>>
  for (const name in members) {
    if (name !== skipped && exceeds(members[name], levels - 1)) return true
  }
  return false
}

/** What a parsed body contains; throws RpcError. */
export function toMessages(value: unknown): Messages {
  if (!Array.isArray(value)) return { isBatch: false, messages: [toMessage(value)] }
  if (value.length === 0) throw new RpcError(400, INVALID_REQUEST, 'A batch must not be empty')
  if (value.length > maxEntries) {
    throw new RpcError(400, INVALID_REQUEST, `A batch may have at most ${maxEntries} entries`)
  }
  const messages = value.map(toMessage)
  const ids = messages.filter(isJSONRPCRequest).map(({ id }) => id)
  // The client could not distinguish two answers with one id.
  if (new Set(ids).size !== ids.length) {
    throw new RpcError(400, INVALID_REQUEST, 'The ids of a batch must be distinct')
  }
  return { isBatch: true, messages }
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(utf8.decode(bytes))
  } catch {
    // The parser's message quotes its input, so it is not passed on.
    throw new RpcError(400, PARSE_ERROR, 'Parse error: the body is not valid JSON')
  }
}

function toMessage(value: unknown): JSONRPCMessage {
  if (isJSONRPCRequest(value) || isJSONRPCNotification(value) || isJSONRPCResponse(value)) {
    return value
  }
  throw new RpcError(
    400,
    INVALID_REQUEST,
    'Invalid Request: not a JSON-RPC 2.0 message',
    idOf(value),
  )
}

function idOf(value: unknown): string | number | null {
  if (typeof value !== 'object' || value === null || !('id' in value)) return null
  const { id } = value
  return typeof id === 'string' || (typeof id === 'number' && Number.isFinite(id)) ? id : null
}
