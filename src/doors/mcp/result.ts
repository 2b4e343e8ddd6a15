/**
 * Formats answers as tool results: `structuredContent` is the REST body, the first text block the same JSON
 * with every invisible character escaped, the second one line about the page's position. A page that is too
 * large for a model ends earlier, after a whole row (docs/configuration.md, Events and agents); rows are
 * never cut.
 */
import type { CallToolResult } from '@modelcontextprotocol/server'
import type { ApiError } from '#contract/errors.ts'
import type { Pagination } from '#contract/resources.ts'
import { type ToolOperation, toolNameOf } from '#contract/tool-descriptions.ts'
import type { Answer } from '#gate/gate.ts'
import { toAgentEnvelope } from './wording.ts'

interface Page {
  readonly data: readonly unknown[]
  readonly pagination?: Pagination
  /** The cursor of a list without an end. */
  readonly next?: string
}

/** What a result says, before it is an object for the library or bytes for the lane. */
export interface ResultTexts {
  /** JSON: the REST body, or the error envelope. */
  readonly json: string
  /** The same JSON without invisible characters. */
  readonly text: string
  readonly line: string
  readonly isError: boolean
}

/**
 * A page that has to end earlier. Its first `limit` rows are read for themselves, so that the end of the page
 * is known where the next one is read (docs/snapshots.md, marks) and a list that is read in parts is held.
 */
export interface ShorterPage {
  readonly limit: number
}

export interface PageBounds {
  /** 0 means no limit. */
  readonly maxBytes: number
  /** The page is a `ShorterPage` of another. */
  readonly isShorter?: boolean
  /** The last day or instant that was read; absent: nothing is later. */
  readonly until?: string | undefined
}

/** The result of an answered call, or the page to read instead. */
export function describeAnswer(
  operation: ToolOperation,
  answer: Answer,
  { maxBytes, isShorter = false, until }: PageBounds,
): ResultTexts | ShorterPage {
  const json = utf8.decode(answer.body)
  const whole = JSON.parse(json) as Page
  const text = visible(json)
  const size = frameBytes + answer.body.length + literalBytes(text)
  const rows =
    maxBytes === 0 || size <= maxBytes ? whole.data.length : countFitting(whole, maxBytes)
  if (rows < whole.data.length) return { limit: rows }
  const line = describe(operation, whole, {
    isCut: isShorter,
    isTruncated: answer.truncated,
    until,
  })
  return { json, text, line, isError: false }
}

const utf8 = new TextDecoder()

/** The result of a failed call: the error envelope of REST in wording for agents, and when to retry. */
export function describeError(error: ApiError, requestId: string): ResultTexts {
  const wait = error.retryAfterSeconds
  const line = wait === null ? 'The call failed.' : `The call failed: retry after ${wait} s.`
  const json = JSON.stringify(toAgentEnvelope(error, requestId))
  return { json, text: visible(json), line, isError: true }
}

/** The object that the library serialises. */
export function toResult({ json, text, line, isError }: ResultTexts): CallToolResult {
  return {
    content: [
      { type: 'text', text },
      { type: 'text', text: line },
    ],
    structuredContent: JSON.parse(json),
    ...(isError ? { isError } : {}),
  }
}

/** Controls, direction marks, invisible joiners and tags: Cc and Cf, line and paragraph separators. */
const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/**
 * JSON text that parses to the same value, without any character that hides or reorders the text around it.
 */
function visible(json: string): string {
  return json.replace(unseen, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  )
}

/** Reserved for everything but the rows: the JSON-RPC frame, the second text block, the pagination object. */
const frameBytes = 700

/** How many of the first rows fit with both of their copies; at least one. */
function countFitting({ data, pagination, next }: Page, maxBytes: number): number {
  if (pagination === undefined && next === undefined) return data.length
  let used = frameBytes
  let rows = 0
  for (const row of data) {
    const json = JSON.stringify(row)
    used += Buffer.byteLength(json) + literalBytes(visible(json))
    if (used > maxBytes && rows > 0) break
    rows += 1
  }
  return rows
}

/** Bytes of a text inside a JSON string, quotes included. */
function literalBytes(text: string): number {
  return Buffer.byteLength(JSON.stringify(text))
}

interface About extends Pick<PageBounds, 'until'> {
  /** It ends earlier than REST's page, to fit. */
  readonly isCut: boolean
  /** The row ceiling or the page cap fired: the total is a lower bound (reading R17). */
  readonly isTruncated: boolean
}

function describe(operation: ToolOperation, page: Page, about: About): string {
  const [one, many] = operation.tool.row
  const count = page.data.length
  const counted = `${count} ${count === 1 ? one : many}`
  const { pagination, next: cursor } = page
  if (cursor !== undefined) {
    const what = count === 0 ? 'Nothing new.' : `${counted}.`
    return `${what} Keep next, and call ${toolNameOf(operation)} with after = next for what follows.`
  }
  if (pagination === undefined && about.isTruncated)
    return `${counted}, not of all rows: see truncated and reachedDate.`
  if (pagination === undefined) return `${counted}, complete.${unknownBalances(page)}`
  const { total, offset, hasMore } = pagination
  if (!hasMore) {
    const end = about.until === undefined ? '' : ` Read until ${about.until} and no further.`
    return `${counted} from offset ${offset}: the end, ${total} in all.${end}`
  }
  const all = total === null ? '' : ` of ${about.isTruncated ? 'at least ' : ''}${total}`
  const why = about.isCut ? ' (the page ends early to fit)' : ''
  const next = `call ${toolNameOf(operation)} again with the same arguments and offset ${offset + pagination.limit}`
  return `${counted} from offset ${offset}${all}${why}. There is more: ${next}.`
}

/** A null balance means that the provider does not know it (contract, Balance). */
function unknownBalances(page: Page): string {
  const unknown = page.data.filter(
    (row) =>
      typeof row === 'object' &&
      row !== null &&
      'currentBalance' in row &&
      row.currentBalance === null,
  )
  return unknown.length === 0 ? '' : ` ${unknown.length} not provided by the bank (null).`
}
