/**
 * Reads the body of a request to `/mcp`: at most 16 KiB, declared or counted (contract, Limits).
 */
import type { IncomingMessage } from 'node:http'
import { type ApiError, apiError } from '#contract/errors.ts'
import { maxBodyBytes } from '#contract/limits.ts'
import type { ClientDisconnected } from '../client.ts'
import { readBody as readBytes } from '../request-body.ts'

/**
 * Reads it whole. `body_too_large` and ClientDisconnected are returned, not thrown: the caller still has to be identified,
 * because that settles the pre-auth point.
 */
export async function readBody(
  request: IncomingMessage,
): Promise<Uint8Array | ApiError | ClientDisconnected> {
  const body = await readBytes(request, maxBodyBytes)
  return body === 'too_large' ? apiError('body_too_large') : body
}
