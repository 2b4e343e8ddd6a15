/**
 * What is known of a client before it is identified: its address behind trusted proxies, the name of its request, and
 * whether it is still there.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { tokenPrefix } from '#gate/bearer.ts'
import { toVisitor, type Visitor } from '#gate/throttle.ts'
import { makeRequestIds } from './request-id.ts'

/** True for the address of a proxy whose `X-Forwarded-For` counts (`TRUST_PROXY`). */
export type IsTrustedProxy = (address: string) => boolean

const maxForwarded = 32

/** The nearest address that is no trusted proxy, read from the right; the peer's own where none is trusted. */
export function clientAddress(request: IncomingMessage, isTrusted: IsTrustedProxy): string {
  const peer = plainAddress(request.socket.remoteAddress ?? 'unknown')
  if (!isTrusted(peer)) return peer
  const forwarded = request.headers['x-forwarded-for']
  const text = Array.isArray(forwarded) ? forwarded.join(',') : (forwarded ?? '')
  const hops = text.split(',').slice(-maxForwarded)
  for (const hop of hops.reverse()) {
    const address = plainAddress(hop.trim().slice(0, 64))
    if (address !== '' && !isTrusted(address)) return address
  }
  return peer
}

/** Without the port that some proxies add, and IPv4 without its IPv6 clothes, so that one address has one bucket. */
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
 * The Authorization header, undefined when there is none. Given twice it is joined, and so no bearer token any more
 * (reading R5): Node's own `headers` would show the first and hide the second.
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

/** Whether a header has this name, given in lower case. Most are ruled out by their length: it is asked of every header. */
export function isNamed(name: string, lower: string): boolean {
  return name.length === lower.length && (name === lower || name.toLowerCase() === lower)
}

/** What the requests of one connection have in common. */
export interface Client {
  readonly authorization: string | undefined
  readonly visitor: Visitor
}

/**
 * Who stands behind a request; worked out once per connection, and anew when a header that it hangs on changes. What is
 * remembered goes with the connection.
 */
export function makeClients(isTrusted: IsTrustedProxy): (request: IncomingMessage) => Client {
  type Known = Client & { readonly forwarded: string }
  const connections = new WeakMap<object, Known>()
  return (request) => {
    const authorization = authorizationOf(request)
    const forwarded = String(request.headers['x-forwarded-for'] ?? '')
    const known = connections.get(request.socket)
    if (known?.authorization === authorization && known?.forwarded === forwarded) return known
    const address = clientAddress(request, isTrusted)
    const visitor = toVisitor(address, tokenPrefix(authorization))
    const client: Known = { authorization, forwarded, visitor }
    connections.set(request.socket, client)
    return client
  }
}

const nextId = makeRequestIds()
const sane = /^[A-Za-z0-9._~:@+/=-]{1,128}$/

/** The caller's own `X-Request-Id` if it is sane, else a new one. */
export function requestIdOf(request: IncomingMessage): string {
  const given = request.headers['x-request-id']
  return typeof given === 'string' && sane.test(given) ? given : nextId()
}

/** Why a signal of `departure` was aborted: the client closed the connection before its answer was written. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone'
}

/** Aborted when the client goes away before its answer is complete (reading R22). Made only where somebody waits. */
export function departure(response: ServerResponse): AbortSignal {
  const gone = new AbortController()
  const leave = () => {
    if (!response.writableFinished) gone.abort(new ClientGone('the client went away'))
  }
  if (response.destroyed || response.closed) leave()
  else response.once('close', leave)
  return gone.signal
}
