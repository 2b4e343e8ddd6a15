/**
 * What a login reaches, and whether it still does: the claim of a setup token, the reading that everything
 * shares, and what an empty answer proves (readings R20b, R36, R38).
 */
import assert from 'node:assert/strict'
import {
  addDays,
  type Clock,
  getZone,
  hourMs,
  type Millis,
  toMicros,
  toMillis,
} from '#kernel/time.ts'
import type { Credentials, Identity, SentClaims } from '../credentials.ts'
import { consentGone, UpstreamError } from '../failure.ts'
import type { CallContext, ConnectionRef, EmptyAnswer, Login, UpstreamReport } from '../port.ts'
import type { Readings } from '../readings.ts'
import {
  type AccessUrl,
  identifyAccess,
  ownToken,
  readAccessUrl,
  readPasted,
} from './access-url.ts'
import { type AccountSet, readAccountSet, type WireAccount } from './account-set.ts'
import { claimedBefore } from './claim.ts'
import type { AccountsRequest, SimplefinClient } from './client.ts'
import { accessRefused, bankWaits, unavailable } from './failures.ts'
import { nameClaim, readSecret, type SimplefinSecret, secretOf, writeSecret } from './secret.ts'

/** The largest window that the server answers without a warning (docs/providers/simplefin.md, Limits). */
export const windowDays = 44
/** R36. */
export const readingLifeMs = hourMs

/** What reading a login's server takes. */
export interface Reach {
  readonly client: SimplefinClient
  readonly readings: Readings
  readonly clock: Clock
  readonly allowPrivate: boolean
  /** The address leads back to this service. */
  readonly isOurs: (url: URL) => boolean
  readonly report: UpstreamReport
}

/** A set with the time at which its reading began. */
export interface ReadSet {
  readonly set: AccountSet
  readonly readAt: Millis
}

const utc = getZone('UTC')
export const todayOf = (clock: Clock): string => utc.dayOf(toMicros(clock.now()))
export const startOf = (day: string): number => toMillis(utc.startOfDay(day)) / 1000

/**
 * Whose credentials these are. A setup token is claimed, once: of one that was claimed before for a login of
 * the same person, that login is the answer.
 */
export async function identify(
  reach: Reach,
  credentials: Credentials,
  { known, sent }: { readonly known: readonly Login[]; readonly sent?: SentClaims | undefined },
  call: CallContext,
): Promise<Identity> {
  assert(credentials.provider === 'simplefin', 'the credentials are for SimpleFIN')
  const { allowPrivate } = reach
  const pasted = readPasted(credentials.setupToken, allowPrivate)
  if (reach.isOurs(new URL(pasted.url))) throw ownToken()
  const claim = pasted.kind === 'claim' ? nameClaim(pasted.url) : null
  if (claim !== null) {
    const before = known.find(({ secret }) => readSecret(secret)?.claim === claim)
    if (before !== undefined) {
      return {
        ...frame,
        upstreamUserId: before.upstreamUserId,
        secret: before.secret,
        isClaimed: true,
      }
    }
  }
  const accessUrl =
    pasted.kind === 'claim' ? await claimOnce(reach, pasted.url, call, sent) : pasted.url
  const access = readAccessUrl(accessUrl, allowPrivate)
  if (reach.isOurs(new URL(accessUrl))) throw ownToken()
  const identity = {
    ...frame,
    upstreamUserId: identifyAccess(access),
    secret: writeSecret({ accessUrl, claim }),
    peers: known.filter((login) => isSameServer(login, access)).map(({ id }) => id),
  }
  return claim === null ? identity : { ...identity, isClaimed: true }
}

/**
 * The access URL: what another process gets for the same token just now, else what the server answers.
 * @throws UpstreamError, always where it was sent before and is not stored (reading R38).
 */
async function claimOnce(
  { client }: Reach,
  url: URL,
  call: CallContext,
  sent: SentClaims | undefined,
): Promise<string> {
  call.signal.throwIfAborted()
  const name = nameClaim(url)
  while (sent !== undefined && !(await sent.add(name))) {
    const logins = await sent.waitFor(name)
    call.signal.throwIfAborted()
    if (logins === null) throw claimedBefore()
    const stored = findClaimed(logins, name)
    if (stored !== null) return stored.accessUrl
  }
  const result = await client.claim(url, call)
  if (result.kind === 'claimed') return result.accessUrl
  if (result.kind === 'unmade') await sent?.remove(name)
  throw result.error
}

function findClaimed(logins: readonly Login[], claim: string): SimplefinSecret | null {
  const secrets = logins.map(({ secret }) => readSecret(secret))
  return secrets.find((secret) => secret?.claim === claim) ?? null
}

/** Ids of connections are unique on one server only. */
function isSameServer({ secret }: Login, { origin, path }: AccessUrl): boolean {
  const url = URL.parse(readSecret(secret)?.accessUrl ?? '')
  return url !== null && url.origin === origin && url.pathname.replace(/\/+$/, '') === path
}

const bankUnread = 'the server could not read this bank'

const frame = {
  isPersonal: true,
  ifNothing:
    'The server has no bank for this access: connect one on its page first, then paste the same text again.',
}

/** The newest window with every account: one reading serves all that asks for it (reading R36). */
export function readNewest(reach: Reach, login: Login, call: CallContext): Promise<ReadSet> {
  const startSeconds = startOf(addDays(todayOf(reach.clock), -windowDays))
  return readSet(reach, login, { startSeconds, endSeconds: null, accountIds: [] }, call)
}

/** @throws UpstreamError, `consent_lost` where the sign-in to the server itself failed. */
export async function readSet(
  { client, readings, allowPrivate, report }: Reach,
  login: Login,
  request: AccountsRequest,
  call: CallContext,
): Promise<ReadSet> {
  const access = readAccessUrl(secretOf(login).accessUrl, allowPrivate)
  const { body, readAt } = await readings.get({
    name: toName(request),
    login,
    maxAgeMs: readingLifeMs,
    call,
    async read(own) {
      const bytes = await client.accounts(access, request, own)
      const { isWarned, oddities } = readAccountSet(bytes)
      for (const what of oddities) report.oddity({ provider: 'simplefin', what })
      if (isWarned) {
        report.alert({ provider: 'simplefin', detail: 'a server warns of too many requests' })
        await client.stopForToday(access, own)
      }
      return bytes
    },
  })
  const set = readAccountSet(body)
  if (set.isSignedOut) throw lost('invalidated', accessRefused, true)
  return { set, readAt }
}

/** Another first day is another reading: the next page of a walk ends where this one begins. */
const toName = ({ startSeconds, endSeconds, accountIds }: AccountsRequest): string =>
  JSON.stringify([startSeconds, endSeconds, ...accountIds])

function lost(becomes: 'invalidated', detail: string, wholeLogin: boolean): UpstreamError {
  const whole = wholeLogin ? ({ wholeLogin } as const) : {}
  return new UpstreamError('simplefin', { kind: 'consent_lost', becomes, detail, ...whole })
}

/**
 * The account in this answer.
 * @throws UpstreamError: `account_gone` where it has vanished, `consent_lost` with its connection,
 *   `unavailable` where the server could not read it.
 */
export function findAccount(
  set: AccountSet,
  connection: Pick<ConnectionRef, 'upstreamId'>,
  account: { readonly upstreamId: string },
): WireAccount {
  if (set.accountObstacles.get(account.upstreamId) === 'failed') {
    throw unavailable('the server could not read this account')
  }
  const found = set.find(connection.upstreamId, account.upstreamId)
  if (found !== null) return found
  demandConnection(set, connection)
  const detail = 'the server does not list this account any more'
  throw new UpstreamError('simplefin', { kind: 'account_gone', detail })
}

/** @throws UpstreamError `consent_lost` or `unavailable`. */
function demandConnection(
  set: AccountSet,
  { upstreamId }: Pick<ConnectionRef, 'upstreamId'>,
): void {
  const obstacle = set.connectionObstacles.get(upstreamId)
  if (obstacle === 'sign_in') throw lost('invalidated', bankWaits, false)
  if (obstacle !== undefined) throw unavailable(bankUnread)
  if (!set.connections.some(({ conn_id }) => conn_id === upstreamId)) {
    throw lost('invalidated', consentGone, false)
  }
}

/** Resolves when an empty answer can be trusted. */
export async function confirmEmpty(
  reach: Reach,
  { login, connection }: { readonly login: Login; readonly connection: ConnectionRef },
  call: CallContext,
  asked?: EmptyAnswer,
): Promise<void> {
  const { set } = await readNewest(reach, login, call)
  demandConnection(set, connection)
  for (const account of asked?.accounts ?? []) {
    findAccount(set, connection, account)
    demandWhole(set, connection, account)
  }
}

/**
 * Checks an account without rows in this answer. Of a bank that waits for a sign-in the others keep coming.
 * @throws UpstreamError `preparing` where the server has not read them yet, `unavailable` where it could not
 *   read the bank.
 */
export function demandWhole(
  set: AccountSet,
  connection: Pick<ConnectionRef, 'upstreamId'>,
  { upstreamId, name }: { readonly upstreamId: string; readonly name: string },
): void {
  if (set.connectionObstacles.get(connection.upstreamId) === 'failed') throw unavailable(bankUnread)
  if (set.accountObstacles.get(upstreamId) !== 'incomplete') return
  const detail = 'the server has not read all rows of this account yet'
  throw new UpstreamError('simplefin', { kind: 'preparing', detail, of: name })
}
