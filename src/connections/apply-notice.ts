/**
 * Applies one notice of a provider's webhook to the connections that it concerns. Cached answers are
 * invalidated, but not so often that replayed webhooks leave a user without them; a status is stored when it
 * is recent and newer than the stored one; everything else is left to a sync. Each login is one transaction.
 */
import { timingSafeEqual } from 'node:crypto'
import type { ConnectionStatus, Provider } from '#contract/resources.ts'
import { type LoginId, parseUuid } from '#kernel/ids.ts'
import { minuteMs } from '#kernel/time.ts'
import { unreachable } from '#kernel/unreachable.ts'
import type { WebhookNotice } from '#providers/port.ts'
import { openLogin } from '#store/open-login.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'
import type { LoginRef } from '#store/ports/logins.ts'
import type { StoreRows } from '#store/ports/store.ts'
import type { AskOptions } from './ask-provider.ts'
import { adoptAwaited } from './linking/resume-linking.ts'
import { forgetListening } from './listen-to.ts'
import type { ActionOptions } from './options.ts'
import { requestSyncs } from './request-syncs.ts'

type Status = Extract<ConnectionStatus, 'active' | 'invalidated' | 'revoked'>

/** The largest number of users who link the same person at a provider. */
const maxLogins = 100
/** After an older status a newer webhook may have been lost, so a sync asks the provider instead. */
const freshMs = 5 * minuteMs
/**
 * Cached answers of one login are invalidated by webhooks this many times at most. A provider that has read
 * every bank of a person sends some twenty; after that a sync finds new rows, and balances are cached for
 * minutes only.
 */
const outdates = { most: 30, withinMs: 5 * minuteMs }

/** The states in which a reported status is stored; in any other state a sync asks the provider. */
const acceptedFrom: Readonly<Record<Status, readonly ConnectionStatus[]>> = {
  active: ['invalidated', 'pending_mfa'],
  invalidated: ['active', 'pending_mfa'],
  revoked: ['active', 'invalidated', 'pending_mfa'],
}

/** Returns the number of connections that the notice concerned. */
export async function applyNotice(
  options: ActionOptions,
  provider: Provider,
  notice: WebhookNotice,
  askOptions: AskOptions,
): Promise<number> {
  let concerned = 0
  for (const login of await findLogins(options, provider, notice)) {
    const rows = await findConnections(options, login, notice)
    if (rows.length === 0) {
      // A consent that we do not know: the browser that it was given in may never return.
      if (isNews(notice)) concerned += await adoptAwaited(options, login, askOptions)
      continue
    }
    await applyChange(options, { login, rows, notice })
    concerned += rows.length
  }
  return concerned
}

/** True for a notice that can be the first about a new consent. */
function isNews({ change }: WebhookNotice): boolean {
  return change.kind !== 'secret_revoked' && change.kind !== 'cancelled'
}

/** The login that a provider's notices refer to by this text; null: there is none. */
export async function findReferred(
  { store }: Pick<ActionOptions, 'store'>,
  provider: Provider,
  reference: string,
): Promise<LoginRef | null> {
  const id = parseUuid<LoginId>(reference)
  const row = id === null ? null : await store.logins.find(id)
  return row === null || row.provider !== provider ? null : row
}

async function findLogins(
  options: ActionOptions,
  provider: Provider,
  { login }: WebhookNotice,
): Promise<readonly LoginRef[]> {
  if ('upstreamUserId' in login) {
    const { upstreamUserId } = login
    return options.store.logins.listByUpstream({ provider, upstreamUserId, limit: maxLogins })
  }
  const row = await findReferred(options, provider, login.reference)
  return row === null ? [] : [row]
}

/** The login's connections that the notice names, most exactly first; without any name all of them. */
async function findConnections(
  { store }: ActionOptions,
  login: LoginRef,
  { connection, institutionId, account }: WebhookNotice,
): Promise<readonly ConnectionRow[]> {
  const all = await store.connections.listByLogin(login.id)
  const living = all.filter(({ status }) => status !== 'deleting')
  if (connection !== null) {
    const named = living.filter(({ upstreamId }) => upstreamId === connection)
    if (named.length > 0) return named
    return institutionId === null ? [] : living.filter((row) => row.institutionId === institutionId)
  }
  if (account === null) return living
  const holding: ConnectionRow[] = []
  for (const row of living) {
    const accounts = await store.accounts.listByConnection(login.userId, row.id)
    if (accounts.some(({ upstreamId }) => upstreamId === account)) holding.push(row)
  }
  // A new account is in none of them yet.
  return holding.length > 0 ? holding : living
}

interface Concern {
  readonly login: LoginRef
  readonly rows: readonly ConnectionRow[]
  readonly notice: WebhookNotice
}

async function applyChange(options: ActionOptions, concern: Concern): Promise<void> {
  const { login, rows, notice } = concern
  const { change } = notice
  switch (change.kind) {
    case 'consent':
    case 'accounts':
    case 'rows':
      return renew(options, concern, (tx) => requestSyncs(options, tx, rows))
    case 'balances':
    case 'holdings':
      return renew(options, concern, async () => {})
    case 'status':
      return options.store.transact(async (tx) => {
        for (const row of rows) await saveStatus(options, tx, { row, change })
      })
    case 'secret_revoked':
      return endLogin(options, login, change.secret.reveal())
    case 'cancelled':
      await forgetListening(options, login.id)
      return options.store.transact((tx) => requestSyncs(options, tx, rows.slice(0, 1)))
    default:
      return unreachable(change)
  }
}

/** The provider has newer data, so cached answers are invalidated. */
async function renew(
  { store, windows }: ActionOptions,
  { login, rows, notice }: Concern,
  work: (tx: StoreRows) => Promise<void>,
): Promise<void> {
  const key = `webhook:outdate:${login.id}` as const
  const { allowed } = await windows.take(key, outdates.most, outdates.withinMs)
  return store.transact(async (tx) => {
    if (allowed) await tx.users.outdate(login.userId)
    await work(tx)
    for (const { id } of rows) {
      if (notice.refreshedAt === null) break
      await tx.connections.setRefreshed(id, notice.refreshedAt, { isReported: false })
    }
  })
}

interface Reported {
  readonly row: ConnectionRow
  readonly change: Extract<WebhookNotice['change'], { kind: 'status' }>
}

async function saveStatus(
  options: ActionOptions,
  tx: StoreRows,
  { row, change }: Reported,
): Promise<void> {
  const { status: to, at } = change
  const from = acceptedFrom[to]
  const isFresh = Math.abs(options.clock.now() - at) <= freshMs
  const isNew =
    isFresh && (await tx.connections.saveReportedStatus({ connectionId: row.id, from, to, at }))
  const isDecided = row.status === to || from.some((status) => status === row.status)
  // While the login was broken rows may have been missed.
  if (isNew && isDecided && to !== 'active') return
  await requestSyncs(options, tx, [row])
}

/**
 * The login's secret was revoked at the provider: it is deleted here too, and all its connections become
 * `revoked`. When the secret was replaced meanwhile, nothing changes.
 */
async function endLogin(options: ActionOptions, login: LoginRef, secret: string): Promise<void> {
  const row = await openLogin(options.store, login.id)
  // A damaged secret cannot be compared; the next read detects that it does not work.
  if (row === 'damaged' || row === null || row.secret === null || !isSame(row.secret, secret))
    return
  await options.store.transact(async (tx) => {
    await tx.connections.saveLearntStatus({
      login: row,
      connectionId: null,
      from: ['active', 'invalidated', 'pending_mfa'],
      to: 'revoked',
      at: options.clock.now(),
    })
    await tx.logins.forgetSecret(row)
  })
}

function isSame(one: string, other: string): boolean {
  const [left, right] = [Buffer.from(one), Buffer.from(other)]
  return left.length === right.length && timingSafeEqual(left, right)
}
