/**
 * Admits only holders of the admin token, and no web page that a browser was tricked into sending here.
 * Guessing the token is rate-limited per address. The body is not read here.
 */
import { hash, timingSafeEqual } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { apiError } from '#contract/errors.ts'
import { toAddressGroup } from '#kernel/addresses.ts'
import { toRetrySeconds } from '#kernel/retry-after.ts'
import { minuteMs } from '#kernel/time.ts'
import { authorizationOf } from '../client.ts'
import type { AdminDoorOptions } from './options.ts'

const failuresPerMinute = 30
const windowMs = minuteMs

/** Makes the check of the Authorization header. The token is compared by digest, in constant time. */
export function makeTokenCheck(
  options: Pick<AdminDoorOptions, 'adminToken' | 'windows'>,
): (request: FastifyRequest) => Promise<void> {
  const wanted = hash('sha256', options.adminToken.reveal(), 'buffer')

  return async (request) => {
    const header = authorizationOf(request.raw)
    const token = /^bearer +(\S+) *$/i.exec(header ?? '')?.[1] ?? ''
    // The right token is always accepted: guesses from the same address must not lock the operator out.
    if (timingSafeEqual(hash('sha256', token, 'buffer'), wanted)) return
    const bucket = `admin-token:${toAddressGroup(request.ip)}` as const
    const state = await options.windows.take(bucket, failuresPerMinute, windowMs)
    if (!state.allowed) {
      throw apiError('rate_limited', {
        message: 'Too many requests with a wrong admin token',
        retryAfterSeconds: toRetrySeconds(state.resetMs),
      })
    }
    if (header === undefined) {
      throw apiError('missing_authorization', {
        message: 'Authorization header is missing; send "Authorization: Bearer <ADMIN_TOKEN>"',
      })
    }
    throw apiError('invalid_token', {
      message:
        'The admin token is wrong; it is ADMIN_TOKEN, or the content of DATA_DIR/admin-token',
    })
  }
}

/**
 * `given`: the Host header. On a loopback listener, refuses Host names other than this machine's: a page
 * whose domain was pointed at 127.0.0.1 (DNS rebinding) sends its own name as Host.
 */
export function refuseForeignHosts(
  listener: AdminDoorOptions['listener'],
  given: string | undefined,
): void {
  if (!listener.isLoopback) return
  const name = /^(\[[^\]]*\]|[^:]*)(?::\d{1,5})?$/.exec(given ?? '')?.[1]
  const own = listener.host.includes(':') ? `[${listener.host}]` : listener.host
  const names = ['localhost', '127.0.0.1', '[::1]', own.toLowerCase()]
  if (name !== undefined && names.includes(name.toLowerCase())) return
  throw apiError('invalid_params', {
    message: 'This listener answers only to its own host names',
    details: [`Host: must be one of ${[...new Set(names)].join(', ')}`],
  })
}
