/**
 * What a person pastes: a setup token, which is the base64 of a claim URL, or the access URL that one was
 * claimed for. Pure: nothing is asked. Both lead to a server that the person chose, so the address is judged
 * before anything is sent (`src/outbound/allowed-address.ts`), and again when it is connected to.
 */
import { hash } from 'node:crypto'
import { findUrlProblem } from '#outbound/allowed-address.ts'
import { UpstreamError } from '../failure.ts'

/** Where a login's data are, and the credentials for them. */
export interface AccessUrl {
  readonly origin: string
  /** The path below which `/accounts` is, without a slash at its end. */
  readonly path: string
  readonly user: string
  readonly password: string
}

export type Pasted =
  | { readonly kind: 'claim'; readonly url: URL }
  | { readonly kind: 'access'; readonly url: string }

const wrong = (detail: string) =>
  new UpstreamError('simplefin', { kind: 'rejected', status: 400, detail, isPersonal: true })

/** Made by the door of this service, for programs. */
export const ownToken = () =>
  wrong(
    'this is a setup token of this service itself, for programs that read it: linked here it would count your accounts twice. Copy the one from the page of your SimpleFIN server',
  )

/** @throws UpstreamError `rejected`, with what to do. It never repeats what was pasted. */
export function readPasted(text: string, allowPrivate: boolean): Pasted {
  if (/^https?:\/\//i.test(text)) {
    readAccessUrl(text, allowPrivate)
    return { kind: 'access', url: text }
  }
  const decoded = decode(text)
  if (decoded === null) {
    throw wrong(
      'this is no setup token: copy the whole of it from the page of your SimpleFIN server',
    )
  }
  checkAddress('setup token', decoded, allowPrivate)
  return { kind: 'claim', url: new URL(decoded) }
}

/** @throws UpstreamError `rejected`, which names the setting for servers of one's own. */
function checkAddress(what: string, url: string, allowPrivate: boolean): void {
  const problem = findUrlProblem(url, { allowPrivate })
  if (problem === null) return
  const isAboutOwnServer = !allowPrivate && URL.canParse(url) && !problem.includes('user name')
  const hint = isAboutOwnServer
    ? '; for a server of your own the operator sets SIMPLEFIN_ALLOW_PRIVATE=true'
    : ''
  throw wrong(`the ${what} leads to an address that ${problem}${hint}`)
}

/** Base64 or base64url, with or without padding; null: it is no URL in either. */
function decode(text: string): string | null {
  if (!/^[\w+/-]+={0,2}$/.test(text)) return null
  const url = Buffer.from(text, 'base64').toString('utf8').trim()
  return /^https?:\/\/[\x21-\x7e]+$/i.test(url) ? url : null
}

/** @throws UpstreamError `rejected`. */
export function readAccessUrl(text: string, allowPrivate: boolean): AccessUrl {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol)) throw wrong('the access URL is no URL')
  if (url.username === '' || url.password === '') {
    throw wrong('the access URL has no user name and password; copy the whole of it')
  }
  const { username, password } = url
  url.username = ''
  url.password = ''
  checkAddress('access URL', url.href, allowPrivate)
  if (url.search !== '' || url.hash !== '') throw wrong('the access URL has more than a path')
  return {
    origin: url.origin,
    path: url.pathname.replace(/\/+$/, ''),
    user: decodePart(username),
    password: decodePart(password),
  }
}

/** Percent-encoding that is none stays as it is: servers choose the characters. */
function decodePart(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Stable for one access URL; a new setup token gives another one. */
export function identifyAccess({ origin, path, user }: AccessUrl): string {
  return hash('sha256', `${origin}${path} ${user}`)
}
