/**
 * The claim of a setup token, which works once (docs/providers/simplefin.md, Claims): it is sent once, and
 * judged by whether it was made. Nothing that was pasted or answered is in its words.
 */
import { UpstreamError } from '../failure.ts'
import type { CallContext } from '../port.ts'
import type { GuardedUpstream } from '../upstream.ts'

export type ClaimResult =
  | { readonly kind: 'claimed'; readonly accessUrl: string }
  /** The claim was not made, which is certain: it may be sent again. */
  | { readonly kind: 'unmade'; readonly error: unknown }
  /** It may have been made, and its answer is lost. */
  | { readonly kind: 'lost'; readonly error: unknown }

const maxAccessUrlBytes = 4096

/** Resolves whatever the server does. */
export async function sendClaim(
  upstream: GuardedUpstream,
  url: URL,
  call: CallContext,
): Promise<ClaimResult> {
  const request = {
    method: 'POST',
    route: '/claim/{token}',
    origin: url.origin,
    target: `${url.pathname}${url.search}`,
  } as const
  try {
    const { status, body } = await upstream.send(request, call)
    if (status === 200) return readAnswer(body)
    const failure = refuse(toSentence(status))
    return { kind: isRefusal(status) ? 'unmade' : 'lost', error: failure }
  } catch (error) {
    return judge(error)
  }
}

const refuse = (detail: string, cause?: unknown) =>
  new UpstreamError('simplefin', { kind: 'rejected', status: 400, detail, isPersonal: true }, cause)

/** A body in another encoding, which was not asked for, is no address either. */
function readAnswer(body: Uint8Array): ClaimResult {
  const text = Buffer.from(body.subarray(0, maxAccessUrlBytes + 1)).toString('utf8')
  const accessUrl = text.trim()
  const isUrl = /^https?:\/\/[\x21-\x7e]+$/i.test(accessUrl)
  if (isUrl && body.length <= maxAccessUrlBytes) return { kind: 'claimed', accessUrl }
  const detail =
    'the server’s answer to the setup token is no access URL, and a token works once; make a new setup token'
  return { kind: 'lost', error: refuse(detail) }
}

/** The server says itself that it did nothing. */
const isRefusal = (status: number): boolean => status >= 300 && status < 500

function toSentence(status: number): string {
  if (status === 403 || status === 404) {
    return 'this setup token was used before or is unknown; if you did not use it, disable it on the page of your SimpleFIN server, and make a new one'
  }
  if (status === 402) return 'the subscription at the SimpleFIN server has ended'
  if (status === 429) {
    return 'the SimpleFIN server has had too many requests and did not take the setup token; paste the same one again later'
  }
  if (isRefusal(status)) {
    return `the server answered ${status} to the setup token; make a new one and try again`
  }
  return `the server answered ${status} to the setup token, which works once; make a new setup token`
}

/** Names that are unknown, connections that were not opened: not a byte of the claim was sent. */
const unopened: ReadonlySet<unknown> = new Set([
  ...['ENOTFOUND', 'EAI_AGAIN', 'ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH'],
  ...['UND_ERR_CONNECT_TIMEOUT', 'CERT_HAS_EXPIRED', 'ERR_TLS_CERT_ALTNAME_INVALID'],
  ...['DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN'],
  ...['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY'],
])

function judge(error: unknown): ClaimResult {
  const kind = error instanceof UpstreamError ? error.failure.kind : null
  // An address that is not allowed.
  if (kind === 'rejected') return { kind: 'unmade', error }
  const { cause } = error instanceof UpstreamError ? error : {}
  if (cause instanceof Error && 'code' in cause && unopened.has(cause.code)) {
    const detail = `the server of this setup token cannot be reached (${cause.code}), so the token is not used; look whether it is whole, and paste it again later`
    return { kind: 'unmade', error: refuse(detail, error) }
  }
  const detail =
    'the server’s answer to the setup token was lost, and a token works once; make a new setup token'
  return { kind: 'lost', error: refuse(detail, error) }
}

/** Reading R38: a claim is never sent twice. */
export const claimedBefore = () =>
  refuse(
    'this setup token was sent to its server before. If that was just now, look at your connections first. One whose answer was lost, or whose access was removed here, cannot be used again: make a new setup token',
  )
