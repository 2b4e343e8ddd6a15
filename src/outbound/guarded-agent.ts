/**
 * Connects to addresses that untrusted parties name: metadata documents of clients, and event endpoints. Only
 * https on port 443 to the public internet is allowed, checked three times: the URL, the resolved address,
 * the connected address. Addresses from the configuration do not pass through here.
 */
import { isIP, type LookupFunction, Socket } from 'node:net'
import type { buildConnector as Connector } from 'undici'
import { isPublicAddress } from '#kernel/addresses.ts'
import { BlockedAddress, findUrlProblem } from './allowed-address.ts'
import { boundBytes } from './bound-bytes.ts'
import { makeResolveName } from './resolve-name.ts'
import { Agent, buildConnector } from './undici-library.ts'

export interface GuardedAgentOptions {
  /**
   * Allows private addresses, plain http and every port: for an operator's own network, by explicit setting.
   */
  readonly allowPrivate?: boolean
  /** For tests: replaces `makeResolveName`. */
  readonly lookup?: LookupFunction
  /** For tests: replaces the connection step. */
  readonly dial?: Connector.connector
  readonly connectTimeoutMs?: number
  readonly headersTimeoutMs?: number
  readonly bodyTimeoutMs?: number
  /** Limit of one response; a larger one fails. */
  readonly maxResponseBytes?: number
  /** Connections kept open per origin. */
  readonly connections?: number
}

const fiveSeconds = 5000
const defaultMaxResponseBytes = 64 * 1024
/**
 * The bound of one answer with its headers, chunks and interim answers, where its body may not be larger: a
 * chunk of one byte has six.
 */
const maxAnswerBytes = 1024 * 1024

/** One connection pool for guarded requests; it does not follow redirects by itself. Its owner closes it. */
export function makeGuardedAgent(options: GuardedAgentOptions = {}): Agent {
  const maxResponseSize = options.maxResponseBytes ?? defaultMaxResponseBytes
  const connect = options.allowPrivate === true ? openConnector(options) : guardedConnector(options)
  return new Agent({
    connect(target, callback) {
      connect(target, (error, socket) => {
        if (error !== null) return callback(error, null)
        callback(null, socket)
        // After undici, which begins to read in the call before.
        if (socket instanceof Socket)
          boundBytes(socket, Math.max(maxAnswerBytes, 2 * maxResponseSize))
      })
    },
    // One request at a time on a connection, and a smaller parser: its users need no more.
    allowH2: false,
    connections: options.connections ?? 4,
    pipelining: 1,
    headersTimeout: options.headersTimeoutMs ?? fiveSeconds,
    bodyTimeout: options.bodyTimeoutMs ?? fiveSeconds,
    maxResponseSize,
    keepAliveTimeout: 1000,
    keepAliveMaxTimeout: fiveSeconds,
  })
}

function openConnector(options: GuardedAgentOptions): Connector.connector {
  return buildConnector({
    allowH2: false,
    timeout: options.connectTimeoutMs ?? fiveSeconds,
    lookup: options.lookup ?? makeResolveName({ asksSystem: true }),
  })
}

function guardedConnector(options: GuardedAgentOptions): Connector.connector {
  const dial = buildConnector({
    allowH2: false,
    timeout: options.connectTimeoutMs ?? fiveSeconds,
    lookup: makeGuardedLookup(options.lookup ?? makeResolveName()),
    // No TLS session is reused, so that every connection resolves its own name and passes the check.
    maxCachedSessions: 0,
  })
  const connect = options.dial ?? dial
  return (target, callback) => {
    const problem = findUrlProblem(toUrl(target))
    // An IP literal is never resolved, so it is checked here (measured: six of ten bypasses used one).
    if (problem !== null) return callback(new BlockedAddress(`${target.hostname} ${problem}`), null)
    connect(target, (error, socket) => {
      if (error !== null) return callback(error, null)
      const remote = (socket as Socket).remoteAddress ?? ''
      if (isPublicAddress(remote)) return callback(null, socket)
      socket.destroy()
      callback(new BlockedAddress(`${target.hostname} led to ${remote}`), null)
    })
  }
}

/** undici strips the brackets of an IPv6 address. */
function toUrl({ protocol, hostname, port }: Connector.Options): string {
  const host = isIP(hostname) === 6 ? `[${hostname}]` : hostname
  return `${protocol}//${host}${port === '' ? '' : `:${port}`}`
}

/**
 * Refuses a name when any of its addresses is blocked. The connection uses the addresses that were checked.
 */
function makeGuardedLookup(resolve: LookupFunction): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, found) => {
      if (error !== null) return callback(error, '', 0)
      const answers = Array.isArray(found) ? found : []
      const blocked = answers.find(({ address }) => !isPublicAddress(address))
      if (blocked !== undefined || answers[0] === undefined) {
        const reason = blocked === undefined ? 'has no address' : `resolves to ${blocked.address}`
        return callback(new BlockedAddress(`${hostname} ${reason}`), '', 0)
      }
      if (options.all === true) return callback(null, answers)
      callback(null, answers[0].address, answers[0].family)
    })
  }
}
