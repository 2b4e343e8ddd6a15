/**
 * Recognises the tool calls that the lane answers itself: one request that names one of our tools, in a form
 * that the protocol library would accept without a doubt, in either era. Anything else is null, and the
 * library judges it: other methods, batches, unknown tools, further members, headers that disagree with the
 * body.
 */

import type { IncomingHttpHeaders } from 'node:http'
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  classifyInboundRequest,
  PROTOCOL_VERSION_META_KEY,
  SUPPORTED_PROTOCOL_VERSIONS,
} from '@modelcontextprotocol/server'
import { LRUCache } from 'lru-cache'
import { listTools, type ToolOperation, toolNameOf } from '#contract/tool-descriptions.ts'
import { atMost } from '#kernel/at-most.ts'
import { isRecord } from '#kernel/json.ts'
import type { Era } from './checked-server.ts'

export interface PlainCall {
  readonly id: string | number
  readonly era: Era
  readonly operation: ToolOperation
  readonly given: JsonObject
}

/** Reads a parsed body and the headers that belong to it; null: the library answers. */
export type ReadPlainCall = (headers: IncomingHttpHeaders, message: unknown) => PlainCall | null

type JsonObject = Readonly<Record<string, unknown>>

const later = '2026-07-28'
const earlier: ReadonlySet<string> = new Set(
  SUPPORTED_PROTOCOL_VERSIONS.filter((version) => version < later),
)
const memberNames = new Set(['jsonrpc', 'id', 'method', 'params'])
const paramNames = new Set(['name', 'arguments', '_meta'])
const envelopeNames = new Set([
  PROTOCOL_VERSION_META_KEY,
  CLIENT_INFO_META_KEY,
  CLIENT_CAPABILITIES_META_KEY,
  'progressToken',
])
/** The prefix of all names in `_meta` that the protocol reserves (MCP 2025-11-25, `_meta`). */
const reserved = 'io.modelcontextprotocol/'

// Clients choose these texts: only few and short ones are remembered.
const maxRemembered = 1000
const maxRememberedLength = 1024

/** `hasExtraTools`: `MCP_EXTRA_TOOLS`. */
export function makeReadPlainCall(hasExtraTools = false): ReadPlainCall {
  const byName = new Map(
    listTools(hasExtraTools).map((operation) => [toolNameOf(operation), operation]),
  )
  /** Texts of what clients say about themselves that the library found valid. */
  const valid = new LRUCache<string, true>(atMost(maxRemembered))

  /** The library's own judgement, once for each text: every call of a client has the same. */
  function isValidClient(meta: JsonObject, message: JsonObject): boolean {
    const info = meta[CLIENT_INFO_META_KEY]
    const capabilities = meta[CLIENT_CAPABILITIES_META_KEY]
    const text = JSON.stringify({ info, capabilities })
    if (valid.get(text) === true) return true
    const { kind } = classifyInboundRequest({ httpMethod: 'POST', body: message })
    if (kind === 'modern' && text.length <= maxRememberedLength) valid.set(text, true)
    return kind === 'modern'
  }

  function eraOf(
    headers: IncomingHttpHeaders,
    message: JsonObject,
    params: JsonObject,
  ): Era | null {
    const version = headers['mcp-protocol-version']
    const { _meta: meta } = params
    if (meta !== undefined && !(isRecord(meta) && hasProperToken(meta))) return null
    if (version === undefined || (typeof version === 'string' && earlier.has(version))) {
      return meta === undefined || hasNoReservedName(meta) ? '2025' : null
    }
    if (version !== later || meta === undefined || meta[PROTOCOL_VERSION_META_KEY] !== later) {
      return null
    }
    const agrees = headers['mcp-method'] === 'tools/call' && headers['mcp-name'] === params.name
    return agrees && hasOnly(meta, envelopeNames) && isValidClient(meta, message) ? '2026' : null
  }

  return (headers, message) => {
    if (!isRecord(message) || !hasOnly(message, memberNames)) return null
    const { jsonrpc, id, method, params } = message
    if (jsonrpc !== '2.0' || method !== 'tools/call' || !isId(id)) return null
    if (!isRecord(params) || !hasOnly(params, paramNames)) return null
    const { name, arguments: given = {} } = params
    const operation = typeof name === 'string' ? byName.get(name) : undefined
    if (operation === undefined || !isRecord(given)) return null
    const era = eraOf(headers, message, params)
    return era === null ? null : { id, era, operation, given }
  }
}

/** A text or a whole number (MCP, RequestId and ProgressToken). */
function isId(value: unknown): value is string | number {
  return typeof value === 'string' || Number.isSafeInteger(value)
}

function hasProperToken({ progressToken }: JsonObject): boolean {
  return progressToken === undefined || isId(progressToken)
}

function hasOnly(value: JsonObject, names: ReadonlySet<string>): boolean {
  for (const name in value) if (!names.has(name)) return false
  return true
}

function hasNoReservedName(meta: JsonObject): boolean {
  for (const name in meta) if (name.startsWith(reserved)) return false
  return true
}
