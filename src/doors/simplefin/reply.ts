/** Writes answers and refusals of the SimpleFIN door. It makes no decisions but the status of a refusal. */
import type { ServerResponse } from 'node:http'
import type { ApiError } from '#contract/errors.ts'

export interface Reply {
  readonly status: number
  readonly type: 'application/json' | 'text/plain'
  /** In parts where it is large, since joined it would be copied. */
  readonly body: string | readonly Uint8Array[]
  readonly retryAfterSeconds?: number | null
}

/** Writes the refusal, unless the client has disconnected; returns its status. */
export function refuseProgram(
  response: ServerResponse,
  requestId: string,
  error: ApiError,
): number {
  const status = error.entry === 'plan_required' ? 402 : error.status
  if (response.destroyed || response.headersSent) return status
  const body = status === 403 ? 'Forbidden' : error.message.replace(/\s+/g, ' ')
  const { retryAfterSeconds } = error
  writeReply(response, requestId, { status, type: 'text/plain', body, retryAfterSeconds })
  return status
}

export function writeReply(response: ServerResponse, requestId: string, reply: Reply): void {
  if (response.destroyed) return
  const { status, type, body, retryAfterSeconds = null } = reply
  const parts = typeof body === 'string' ? [Buffer.from(body)] : body
  if (retryAfterSeconds !== null) response.setHeader('retry-after', retryAfterSeconds)
  response.writeHead(status, {
    'content-type': type === 'text/plain' ? 'text/plain; charset=utf-8' : type,
    'content-length': parts.reduce((sum, part) => sum + part.length, 0),
    'cache-control': 'no-store',
    'x-request-id': requestId,
  })
  // In one write: one client takes the first chunk for the whole.
  response.cork()
  for (const part of parts) response.write(part)
  response.end()
}
