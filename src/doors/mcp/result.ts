/**
 * Answers as tool results: `structuredContent` is the REST body, the first text block the same JSON with every character
 * that a reader cannot see written out, the second one line on where the page stands. A page too large for a model ends
 * earlier, by whole rows (interfaces, MCP_MAX_ANSWER_BYTES); rows are never cut and the cached answer stays whole.
 */
import type { CallToolResult } from '@modelcontextprotocol/server'
import { type ApiError, toEnvelope } from '#contract/errors.ts'
import type { Pagination } from '#contract/resources.ts'
import type { ToolOperation } from '#contract/tool-descriptions.ts'
import type { Answer } from '#gate/gate.ts'

interface Page {
  readonly data: readonly unknown[]
  readonly pagination?: Pagination
}

/** The result of an answered call. `maxBytes` 0: no bound. */
export function toResult(
  operation: ToolOperation,
  answer: Answer,
  maxBytes: number,
): CallToolResult {
  const json = utf8.decode(answer.body)
  const whole = JSON.parse(json) as Page
  const text = visible(json)
  const size = frameBytes + answer.body.length + literalBytes(text)
  const page = maxBytes === 0 || size <= maxBytes ? whole : shorten(operation, whole, maxBytes)
  const isCut = page !== whole
  const line = describe(operation, page, { isCut, isTruncated: answer.truncated })
  return toContent(page, isCut ? visible(JSON.stringify(page)) : text, line)
}

const utf8 = new TextDecoder()

/** The result of a call that failed: the envelope of REST, and when to try again. */
export function toErrorResult(error: ApiError): CallToolResult {
  const wait = error.retryAfterSeconds
  const line = wait === null ? 'The call failed.' : `The call failed: retry after ${wait} s.`
  const envelope = toEnvelope(error)
  return { ...toContent(envelope, visible(JSON.stringify(envelope)), line), isError: true }
}

function toContent(body: object, text: string, line: string): CallToolResult {
  return {
    content: [
      { type: 'text', text },
      { type: 'text', text: line },
    ],
    structuredContent: { ...body },
  }
}

/** Controls, direction marks, invisible joiners and tags: all of Cc and Cf, and the separators that break lines. */
const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/** JSON text that reads back the same, without any character that hides or turns what stands beside it. */
function visible(json: string): string {
  return json.replace(unseen, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  )
}

/** What stands around rows in an answer: the frame of JSON-RPC, the second text block, the pagination object. */
const frameBytes = 700

/** Drops rows from the end until both copies of the page fit; at least one row stays. */
function shorten(operation: ToolOperation, page: Page, maxBytes: number): Page {
  const { data, pagination } = page
  if (pagination === undefined) return page
  let used = frameBytes
  let rows = 0
  for (const row of data) {
    const json = JSON.stringify(row)
    used += Buffer.byteLength(json) + literalBytes(visible(json))
    if (used > maxBytes && rows > 0) break
    rows += 1
  }
  if (rows === data.length) return page
  // Specification, trades: the total is null whenever there is more.
  const total = operation.name === 'list_trades' ? null : pagination.total
  return {
    data: data.slice(0, rows),
    pagination: { ...pagination, total, limit: rows, hasMore: true },
  }
}

/** Bytes of a text inside a JSON string, quotes included. */
function literalBytes(text: string): number {
  return Buffer.byteLength(JSON.stringify(text))
}

interface About {
  /** It ends earlier than REST's, to fit. */
  readonly isCut: boolean
  /** The row ceiling or the page cap fired: the total is a lower bound (reading R17). */
  readonly isTruncated: boolean
}

function describe(operation: ToolOperation, page: Page, about: About): string {
  const [one, many] = operation.tool.row
  const count = page.data.length
  const counted = `${count} ${count === 1 ? one : many}`
  const { pagination } = page
  if (pagination === undefined) return `${counted}, complete.${unknownBalances(page)}`
  const { total, offset, hasMore } = pagination
  if (!hasMore) return `${counted} from offset ${offset}: the end, ${total} in all.`
  const all = total === null ? '' : ` of ${about.isTruncated ? 'at least ' : ''}${total}`
  const why = about.isCut ? ' (the page ends early to fit)' : ''
  const next = `call ${operation.name} again with the same arguments and offset ${offset + pagination.limit}`
  return `${counted} from offset ${offset}${all}${why}. There is more: ${next}.`
}

/** Specification, Balance: nulls stand for what the provider could not tell. */
function unknownBalances(page: Page): string {
  const unknown = page.data.filter(
    (row) =>
      typeof row === 'object' &&
      row !== null &&
      'currentBalance' in row &&
      row.currentBalance === null,
  )
  return unknown.length === 0 ? '' : ` ${unknown.length} could not be told by the bank (null).`
}
