/**
 * One bounded HTTP exchange of the conformance kit, of any method and with any headers: redirects are
 * reported and not followed, a body has an end, and an answer has a deadline.
 */
import { CheckFailure } from './check.ts'

export interface ServerAnswer {
  readonly method: string
  /** Path and query below the base URL. */
  readonly path: string
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** Undefined: the text is not JSON. */
  readonly body: unknown
}

export interface SentRequest {
  readonly method: string
  readonly url: string
  /** As the report shows it: without the base URL. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Uint8Array
  readonly timeoutMs: number
}

const maxBytes = 32 * 1024 * 1024

/** @throws Failure when there is no answer in time. */
export async function sendRequest(asked: SentRequest): Promise<ServerAnswer> {
  const { method, path } = asked
  try {
    const response = await fetch(asked.url, {
      method,
      headers: asked.headers,
      body: asked.body === undefined ? null : Buffer.from(asked.body),
      redirect: 'manual',
      signal: AbortSignal.timeout(asked.timeoutMs),
    })
    const text = await readText(response)
    return {
      method,
      path,
      status: response.status,
      headers: response.headers,
      text,
      body: parse(text),
    }
  } catch (error) {
    if (error instanceof CheckFailure) throw error
    throw new CheckFailure(`an answer to ${method} ${path}`, reasonOf(error, asked.timeoutMs))
  }
}

async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.length
    if (size > maxBytes) throw new CheckFailure(`an answer of at most ${maxBytes} bytes`, 'more')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function reasonOf(error: unknown, timeoutMs: number): string {
  if (!(error instanceof Error)) return 'an unknown error'
  if (error.name === 'TimeoutError') return `nothing within ${timeoutMs / 1000} s`
  const { cause } = error
  if (!(cause instanceof Error)) return error.message
  return 'code' in cause ? `it cannot be reached (${String(cause.code)})` : cause.message
}

/** How the report names an answer. */
export function describe({ method, path, status, text }: ServerAnswer): string {
  return `${method} ${path} → ${status} ${text}`
}

type Fields = Readonly<Record<string, unknown>>

/** Empty for anything but an object. */
export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {}
}

/** The objects of a list; empty where there is none. */
export function rowsOf({ body }: ServerAnswer, name = 'data'): readonly Fields[] {
  const rows = fieldsOf(body)[name]
  return Array.isArray(rows) ? rows.map(fieldsOf) : []
}

export function errorOf({ body }: ServerAnswer): Fields {
  return fieldsOf(fieldsOf(body).error)
}

export function pagesOf({ body }: ServerAnswer): Fields {
  return fieldsOf(fieldsOf(body).pagination)
}
