/**
 * The body of a request to `/mcp`: at most 16 KiB, declared or counted (specification, Limits). It is read before the
 * caller is known, and so never more of it than that is kept.
 */
import type { IncomingMessage } from 'node:http'
import { type ApiError, apiError } from '#contract/errors.ts'
import { ClientGone } from '../client.ts'

/** Specification, Limits: request body. */
const maxBytes = 16 * 1024
// A client that is still writing does not read its answer: so much of a body too large is read and dropped first.
const maxDroppedBytes = 1024 * 1024

/**
 * Reads it whole; `body_too_large`, or ClientGone when it breaks off, are answers like any other: whose request it is
 * has to be asked all the same.
 */
export function readBody(request: IncomingMessage): Promise<Uint8Array | ApiError | ClientGone> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    let size = 0
    request.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size <= maxBytes) chunks.push(chunk)
      else if (size > maxDroppedBytes) resolve(apiError('body_too_large'))
    })
    request.on('end', () => {
      resolve(size <= maxBytes ? Buffer.concat(chunks) : apiError('body_too_large'))
    })
    const breakOff = () => resolve(new ClientGone('the request broke off'))
    request.on('error', breakOff)
    request.on('close', breakOff)
    // It was over before anybody listened.
    if (request.destroyed) breakOff()
  })
}
