/**
 * What is known of a client before it is identified: its address behind trusted proxies, the path and
 * the id of its request, and whether it is still connected.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { isIP } from 'node:net'
import type { UnidentifiedClient } from '#gate/admit.ts'
import { tokenPrefix } from '#gate/bearer.ts'
import { toCredential } from '#gate/credential.ts'
import { toVisitor } from '#gate/throttle.ts'
import { makeRequestIds } from './request-id.ts'

/** True for the address of a proxy whose `X-Forwarded-For` counts (`TRUST_PROXY`). */
export type IsTrustedProxy = (address: string) => boolean

const maxForwarded = 32

/**
 * The nearest address that is not a trusted proxy, read from the right; the peer's own when it is not trusted
 * itself, and where something that is no address comes first.
 */
export function clientAddress(request: IncomingMessage, isTrusted: IsTrustedProxy): string {
  const peer = plainAddress(request.socket.remoteAddress ?? 'unknown')
  if (!isTrusted(peer)) return peer
  const forwarded = request.headers['x-forwarded-for']
  const text = Array.isArray(forwarded) ? forwarded.join(',') : (forwarded ?? '')
  const hops = text.split(',').slice(-maxForwarded)
  for (const hop of hops.reverse()) {
    const given = hop.trim()
    if (given === '') continue
    const address = plainAddress(given)
    // A zone (`%eth0`) is any text, which would make many clients of one.
    if (isIP(address) === 0 || address.includes('%')) return peer
    if (!isTrusted(address)) return address
  }
  return peer
}

/** Removes a proxy's port and the prefix of IPv4-mapped IPv6 addresses: one address has one bucket. */
function plainAddress(text: string): string {
  const address =
    text
      .match(withPort)
      ?.slice(1)
      .find((part) => part !== undefined) ?? text
  return address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address
}

const withPort = /^(?:\[([^\]]*)\](?::\d+)?|(\d+(?:\.\d+){3}):\d+)$/

/**
 * The Authorization header, undefined when there is none. Two headers are joined, which makes them an invalid
 * bearer token (reading R5): Node's own `headers` would return the first and hide the second.
 */
export function authorizationOf(request: IncomingMessage): string | undefined {
  const only = request.headers.authorization
  if (only === undefined) return undefined
  const { rawHeaders } = request
  let joined = only
  let found = 0
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? ''
    if (!isNamed(name, 'authorization')) continue
    found += 1
    if (found > 1) joined += `, ${rawHeaders[index + 1]}`
  }
  return joined
}

/** Whether a header has this lower-case name. Its length is compared first: this runs for every header. */
export function isNamed(name: string, lower: string): boolean {
  return name.length === lower.length && (name === lower || name.toLowerCase() === lower)
}

/** The client of a request, computed once per connection and again when a header that it needs changes. */
export function makeClientReader(
  isTrusted: IsTrustedProxy,
): (request: IncomingMessage) => UnidentifiedClient {
  interface Known extends UnidentifiedClient {
    readonly authorization: string | undefined
    readonly forwarded: string
  }
  const connections = new WeakMap<object, Known>()
  return (request) => {
    const authorization = authorizationOf(request)
    const forwarded = String(request.headers['x-forwarded-for'] ?? '')
    const known = connections.get(request.socket)
    if (known?.authorization === authorization && known?.forwarded === forwarded) return known
    const address = clientAddress(request, isTrusted)
    const visitor = toVisitor(address, tokenPrefix(authorization))
    const credential = toCredential(authorization, address)
    const client: Known = { authorization, forwarded, credential, visitor }
    connections.set(request.socket, client)
    return client
  }
}

const nextId = makeRequestIds()
const sane = /^[A-Za-z0-9._~:@+/=-]{1,128}$/

/** The caller's own `X-Request-Id` if its format is acceptable, else a new one. */
export function requestIdOf(request: IncomingMessage): string {
  const given = request.headers['x-request-id']
  return typeof given === 'string' && sane.test(given) ? given : nextId()
}

/** The path of a request's target. */
export function withoutQuery(target = '/'): string {
  const end = target.indexOf('?')
  return end === -1 ? target : target.slice(0, end)
}

/** The reason of an aborted `disconnectSignal`: the client left before its answer was written. */
export class ClientDisconnected extends Error {
  override readonly name = 'ClientDisconnected'
}

/** Aborted when the client leaves before its whole answer (R22). Make it only where something waits. */
export function disconnectSignal(response: ServerResponse): AbortSignal {
  const gone = new AbortController()
  const leave = () => {
    if (!response.writableFinished) gone.abort(new ClientDisconnected('the client went away'))
  }
  if (response.destroyed || response.closed) leave()
  else response.once('close', leave)
  return gone.signal
}

/**
 * Whether the client disconnected during its own body, or sent an invalid one: no answer is possible. The
 * stream of a request without a body is destroyed too, but it has ended (`optimizeEmptyRequests` of
 * node:http).
 */
export function hasDisconnected(request: IncomingMessage): boolean {
  return request.destroyed && !request.complete && !request.readableEnded
}
