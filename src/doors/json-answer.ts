/** Writes a short JSON answer whole, for doors that send no headers of their own but a few. */
import type { ServerResponse } from 'node:http'
import { type ApiError, toEnvelope } from '#contract/errors.ts'

type Headers = Readonly<Record<string, string | number>>

export function answerJson(
  response: ServerResponse,
  status: number,
  value: unknown,
  headers: Headers = {},
): void {
  const body = JSON.stringify(value)
  response.writeHead(status, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    ...headers,
  })
  response.end(body)
}

export function answerError(response: ServerResponse, error: ApiError, headers?: Headers): void {
  const { status, retryAfterSeconds } = error
  const wait = retryAfterSeconds === null ? {} : { 'Retry-After': retryAfterSeconds }
  answerJson(response, status, toEnvelope(error), { ...wait, ...headers })
}
