/**
 * The keys that sign requests: this installation's own, commercial or one person's, and those that people
 * bring for their own login. It decides which key a login is read with, and refuses every other combination:
 * no request has a personal key together with a user, or a commercial key without one where a user is needed.
 */
import type { Login } from '../port.ts'
import { fail } from './failures.ts'

export interface ApiKey {
  readonly clientId: string
  readonly consumerKey: string
}

/** The key of the variables; `SNAPTRADE_KEY` says of which kind it is, and nothing here guesses it. */
export interface OwnKey extends ApiKey {
  readonly kind: 'commercial' | 'personal'
}

/** Who makes a request. */
export type Asker =
  /** A person who is registered under a commercial key: id and secret are part of the query. */
  | {
      readonly kind: 'user'
      readonly key: ApiKey
      readonly userId: string
      readonly userSecret: string
    }
  /** A person by a key of their own, which takes the place of user id and secret. */
  | { readonly kind: 'personal'; readonly key: ApiKey; readonly isOfVariables: boolean }
  /** The commercial key alone, where no person is concerned. */
  | { readonly kind: 'app'; readonly key: ApiKey }

/** Credentials of users have no blanks (`connections/link-input.ts`), so none of them starts like this. */
const mark = 'personal-key '

/** The sealed form of a key that a person brought; the client id is the login's id at SnapTrade. */
export function toSecret(key: ApiKey): string {
  return `${mark}${key.consumerKey}`
}

/** The key of the variables; null without them. */
export function readOwnKey(options: {
  readonly clientId: string | null
  readonly consumerKey: string | null
  readonly keyKind: OwnKey['kind']
}): OwnKey | null {
  const { clientId, consumerKey, keyKind: kind } = options
  return clientId === null || consumerKey === null ? null : { kind, clientId, consumerKey }
}

/**
 * Who makes the requests about a login. Throws `misconfigured` for a login that was linked with a key that
 * this installation no longer has, or has as another kind: the variables say nothing about the consent, which
 * still exists.
 */
export function toAsker(own: OwnKey | null, login: Login): Asker {
  const asker = findAsker(own, login)
  if (typeof asker !== 'string') return asker
  throw fail({ kind: 'misconfigured', status: 401, detail: asker })
}

/** Why nobody can make them with the key of the variables; null: somebody can. */
export function findObstacle(own: OwnKey | null, login: Login): string | null {
  const asker = findAsker(own, login)
  return typeof asker === 'string' ? asker : null
}

/** Text: why there is none. */
function findAsker(own: OwnKey | null, { secret, upstreamUserId }: Login): Asker | string {
  if (secret?.startsWith(mark)) {
    const key = { clientId: upstreamUserId, consumerKey: secret.slice(mark.length) }
    return { kind: 'personal', key, isOfVariables: false }
  }
  if (secret !== null) {
    if (own?.kind !== 'commercial') return explainUser(own)
    return { kind: 'user', key: own, userId: upstreamUserId, userSecret: secret }
  }
  if (own?.kind !== 'personal' || own.clientId !== upstreamUserId) return explainPersonal(own)
  return { kind: 'personal', key: own, isOfVariables: true }
}

/** The login is a personal key: its owner's own, or that of the variables. */
export function isPersonalLogin({ secret }: Login): boolean {
  return secret === null || secret.startsWith(mark)
}

const relink = 'link again with `tributary connections link`'

function explainUser(own: OwnKey | null): string {
  const now = own === null ? 'there is no commercial key now' : 'SNAPTRADE_KEY is personal now'
  return `this login is a user of a commercial key, and ${now}: set the commercial key with SNAPTRADE_KEY=commercial, or ${relink}`
}

function explainPersonal(own: OwnKey | null): string {
  const linked = 'this login was linked with the personal key of the variables, and'
  switch (own?.kind) {
    case undefined:
      return `${linked} they are not set now: set them, or ${relink}`
    case 'commercial':
      return `${linked} SNAPTRADE_KEY is commercial now: set SNAPTRADE_KEY=personal, or ${relink}`
    case 'personal':
      return `${linked} SNAPTRADE_CLIENT_ID is another one now: ${relink}, then remove this connection`
  }
}
