/**
 * Reads a request's body whole: the one way for every door. It is read before the client is known, so its
 * size is bounded where it is received (`received-body.ts`).
 */
import type { IncomingMessage } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { apiError } from '#contract/errors.ts'
import { ClientDisconnected } from '../client.ts'
import { announcesTooMuch, bodyLimitOf } from './body-limits.ts'
import { type Body, hasBody, takeBody } from './received-body.ts'

/**
 * The bytes; `too_large` when more are declared or come; ClientDisconnected when the client left during its
 * request. These are returned, not thrown, because the caller decides what each costs.
 */
export async function readBody(request: IncomingMessage): Promise<Body> {
  if (announcesTooMuch(request)) return 'too_large'
  if (!hasBody(request)) return new Uint8Array()
  const received = takeBody(request)
  if (received !== null) return received
  // An injected request: all of it is in memory already.
  const body = await buffer(request)
  return body.length > bodyLimitOf(request.url ?? '/') ? 'too_large' : body
}

/**
 * For doors behind the router.
 * @throws `body_too_large`, ClientDisconnected.
 */
export async function readText(request: IncomingMessage): Promise<string> {
  const body = await readBody(request)
  if (body === 'too_large') throw apiError('body_too_large')
  if (body instanceof ClientDisconnected) throw body
  return Buffer.from(body).toString('utf8')
}
