/** The largest request body per path, in bytes. Listeners refuse more before it is sent. */
import type { IncomingMessage } from 'node:http'
import { maxBodyBytes } from '#contract/limits.ts'

/** Webhooks of providers name many rows at once (contract, Limits). */
export const maxWebhookBytes = 64 * 1024

/** The limit for a request's target. */
export function bodyLimitOf(url: string): number {
  return url.startsWith('/providers/') ? maxWebhookBytes : maxBodyBytes
}

/** Each door refuses such a body at once. */
export function announcesTooMuch({ headers, url }: IncomingMessage): boolean {
  const length = headers['content-length']
  return length !== undefined && Number(length) > bodyLimitOf(url ?? '/')
}
