/**
 * Reads a request's body whole: the one way for every door. It is read before the client is known, so its
 * size is bounded where it is received (`received-body.ts`).
 */
import type { IncomingMessage } from 'node:http'
import { apiError } from '#contract/errors.ts'
import { GatheredBytes } from '#kernel/gathered-bytes.ts'
import { announcesTooMuch, bodyLimitOf } from './body-limits.ts'
import { ClientDisconnected } from './client.ts'
import { isTooLarge } from './received-body.ts'

/** The bytes, or why there are none. */
export type Body = Uint8Array | 'too_large' | ClientDisconnected

/**
 * The bytes; `too_large` when more are declared or come; ClientDisconnected when the client left during its
 * request. These are returned, not thrown, because the caller decides what each costs.
 */
export function readBody(request: IncomingMessage): Promise<Body> {
  return new Promise((resolve) => {
    let isRead = false
    const finish = (outcome: Body) => {
      isRead = true
      resolve(outcome)
    }
    const refuse = () => {
      // The rest of the body is discarded.
      request.removeAllListeners('data')
      request.resume()
      finish('too_large')
    }
    if (isTooLarge(request)) return refuse()
    if (announcesTooMuch(request)) return refuse()
    // There is no body, so that no event will come.
    if (request.readableEnded) return finish(new Uint8Array())
    const body = new GatheredBytes(bodyLimitOf(request.url ?? '/'))
    request.on('data', (part: Uint8Array) => {
      if (!body.add(part)) refuse()
    })
    request.on('too_large', refuse)
    request.on('end', () => {
      if (!isRead) finish(body.take())
    })
    // Every request closes, most of them after their end: an error is only made where it is the outcome.
    const breakOff = () => {
      if (!isRead) finish(new ClientDisconnected('the client disconnected during its request'))
    }
    request.on('error', breakOff)
    request.on('close', breakOff)
    // The request was aborted before the listeners were added.
    if (request.destroyed) breakOff()
  })
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
