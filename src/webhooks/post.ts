/**
 * Sends one event: a POST through the address guard, without redirects, bounded in time and size. Every
 * failure of the receiver is an outcome with a description, not an exception; it never contains an address
 * that a name resolved to.
 */
import type { Dispatcher } from 'undici'
import { errorCode } from '#kernel/error-code.ts'
import { BlockedAddress, findUrlProblem } from '#outbound/allowed-address.ts'
import { exchange, NoAnswerInTime } from '#outbound/exchange.ts'
import type { AttemptOutcome } from './retry-policy.ts'

/** Time limit from the look-up of the name to the last byte that is read of the answer. */
export const postTimeoutMs = 15_000
/** The part of an answer that is read; the rest is discarded. */
export const maxAnswerBytes = 64 * 1024

export interface Message {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

export interface Posted {
  readonly outcome: AttemptOutcome
  readonly durationMs: number
  /** What was read of the answer; null: there was no answer. */
  readonly answer: string | null
}

/** Aborting `stop` ends the exchange at once; the outcome is then one without an answer. */
export type Post = (message: Message, stop: AbortSignal) => Promise<Posted>

export interface PostOptions {
  /** A guarded agent used only for events; its owner closes it. */
  readonly agent: Dispatcher
  /** `WEBHOOK_ALLOW_PRIVATE`, as the agent was made with. */
  readonly allowPrivate: boolean
  readonly userAgent: string
  readonly timeoutMs?: number
}

export function makePost(options: PostOptions): Post {
  const timeoutMs = options.timeoutMs ?? postTimeoutMs
  return async ({ url, headers, body }, stop) => {
    const started = performance.now()
    const elapsed = () => Math.round(performance.now() - started)
    try {
      // The endpoint may have been created under another setting.
      const problem = findUrlProblem(url, options)
      if (problem !== null) throw new BlockedAddress(problem)
      const { body: read, ...head } = await exchange(options.agent, {
        url: new URL(url),
        headers: {
          ...headers,
          'content-type': 'application/json',
          accept: '*/*',
          'user-agent': options.userAgent,
        },
        body,
        timeoutMs,
        maxBytes: maxAnswerBytes,
        stop,
      })
      const answer = Buffer.from(read).toString('utf8')
      return { outcome: { kind: 'answered', head }, durationMs: elapsed(), answer }
    } catch (error) {
      const failure =
        error instanceof NoAnswerInTime
          ? `no answer within ${timeoutMs / 1000} seconds`
          : describe(error, stop)
      return { outcome: { kind: 'silent', failure }, durationMs: elapsed(), answer: null }
    }
  }
}

const words: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was reset before an answer came',
  UND_ERR_SOCKET: 'the connection ended before an answer came',
  EPIPE: 'the connection ended before an answer came',
  ENOTFOUND: 'the host name does not exist',
  EAI_AGAIN: 'the host name could not be resolved at present',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network of the host cannot be reached',
  ETIMEDOUT: 'the connection timed out',
  UND_ERR_CONNECT_TIMEOUT: 'no connection was made in time',
  UND_ERR_HEADERS_TIMEOUT: 'no answer came in time',
  ANSWER_TOO_LONG: 'more arrived than an answer may have, and no status',
  UND_ERR_HEADERS_OVERFLOW: 'the headers of the answer are too large',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'the answer is not HTTP',
  // undici throws it for a status below 100.
  ERR_ASSERTION: 'the answer is not HTTP',
}

function describe(error: unknown, stop: AbortSignal): string {
  if (error instanceof BlockedAddress) {
    return 'the address is not allowed: it must be https on port 443 and lead to the public internet; nothing was sent'
  }
  if (stop.aborted) return 'this process had to stop before an answer came'
  // How undici ends a connection on which one of them comes: its code is that of any other end.
  if (error instanceof Error && /^bad (response|upgrade)$/.test(error.message))
    return 'the answer began with 100 (Continue) or 101 (Switching Protocols), which nothing asked for'
  const code = errorCode(error)
  const known = words[code]
  if (known !== undefined) return known
  if (error instanceof Error && error.name === 'HTTPParserError') return 'the answer is not HTTP'
  if (/CERT|TLS|SSL|SELF_SIGNED|LEAF_SIGNATURE|ISSUER/.test(code)) {
    return `no secure connection: the certificate or the TLS handshake failed (${code})`
  }
  return /^[A-Z][A-Z0-9_]{1,60}$/.test(code)
    ? `the exchange failed (${code})`
    : 'the exchange failed'
}
