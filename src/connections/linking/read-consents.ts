/**
 * Reads the consents of a link that was begun in a browser, adopts them, and judges whether the one that was
 * meant has arrived: providers list a consent, and its accounts, some seconds to minutes after the person
 * agreed.
 */
import type { By, Person } from '#contract/actor.ts'
import type { ConnectionId } from '#kernel/ids.ts'
import { factsOf } from '#providers/all-facts.ts'
import { UpstreamError } from '#providers/failure.ts'
import type { DiscoveredConnection } from '#providers/port.ts'
import { OwnerGoneError } from '#store/failure.ts'
import { openLogin } from '#store/open-login.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'
import type { LinkingRow } from '#store/ports/linkings.ts'
import type { LoginRow } from '#store/ports/logins.ts'
import type { StoreRows } from '#store/ports/store.ts'
import { type AdoptedConsent, adoptConsents, type Choice } from '../adopt-consents.ts'
import { type AskOptions, askProvider, getAdapter, toLogin } from '../ask-provider.ts'
import { isTooMany } from '../held-bounds.ts'
import { forgetListening, listenTo } from '../listen-to.ts'
import type { ActionOptions } from '../options.ts'
import { requestSyncs } from '../request-syncs.ts'
import type { LinkingOutcome } from './linking-attempt.ts'
import { failLinking } from './linking-failed.ts'
import { selectMeant } from './linking-state.ts'

export interface OpenLinking {
  readonly attempt: LinkingRow
  readonly login: LoginRow
}

/** Notes the outcome in the store, also of an unreadable provider. @throws ApiError `user_not_found` */
export async function readConsents(
  options: ActionOptions,
  by: By<Person>,
  open: OpenLinking,
  askOptions: AskOptions,
): Promise<void> {
  const { provider } = open.login
  let read: { readonly outcome: LinkingOutcome; readonly code: string | null }
  try {
    read = { outcome: await discoverAndAdopt(options, by, open, askOptions), code: null }
  } catch (error) {
    if (isTooMany(error)) {
      return failLinking(options, by, { attempt: open.attempt, reason: 'too_many', code: null })
    }
    if (!(error instanceof UpstreamError)) throw error
    const { kind, detail } = error.failure
    read = { outcome: 'unread', code: `${kind}: ${detail}` }
  }
  options.report.linking({ provider, ...read })
  if (read.outcome === 'linked') return
  await options.store.linkings.note(open.attempt.id, read.outcome)
}

/** A list that other processes outdate so often is read again by the next look. */
const maxTries = 3

/**
 * `waiting`: the consent or its accounts have not arrived.
 * @throws UpstreamError; ApiError `too_many_connections`.
 */
export async function discoverAndAdopt(
  options: ActionOptions,
  by: By,
  { attempt, login }: OpenLinking,
  askOptions: AskOptions,
): Promise<'linked' | 'waiting'> {
  let current: LoginRow | 'damaged' | null = login
  for (let tries = 0; tries < maxTries; tries += 1) {
    if (current === null || current === 'damaged') break
    try {
      return await adoptOnce(options, by, { attempt, login: current }, askOptions)
    } catch (error) {
      if (!(error instanceof OutdatedError)) throw error
    }
    current = await openLogin(options.store, login.id)
  }
  return 'waiting'
}

async function adoptOnce(
  options: ActionOptions,
  by: By,
  { attempt, login }: OpenLinking,
  askOptions: AskOptions,
): Promise<'linked' | 'waiting'> {
  const { provider, userId } = login
  const adapter = getAdapter(options.adapters, provider)
  const discovered = await askProvider(provider, askOptions, (call) =>
    adapter.discover(toLogin(login), call),
  )
  if (discovered.length === 0) return 'waiting'
  let arrived: ReadonlySet<ConnectionId> | null = null
  await adoptConsents(
    options,
    {
      by,
      userId,
      provider,
      renews: attempt.connectionId,
      credentials: login,
      choice: toChoice(attempt),
      login: (tx) => demandCurrent(tx, login),
      async also(tx, adopted) {
        arrived = await settle(options, tx, { attempt, adopted })
        return isNews(tx, { attempt, adopted, arrived })
      },
    },
    discovered,
  )
  await forgetListening(options, login.id)
  await listenTo(options, login, askOptions)
  return arrived === null ? 'waiting' : 'linked'
}

/** Consents of the login came or went since the list was read, or another process removed the login. */
class OutdatedError extends Error {}

/** The login, held for the transaction. @throws OutdatedError, OwnerGoneError */
async function demandCurrent(tx: StoreRows, login: LoginRow): Promise<LoginRow> {
  const current = await tx.logins.hold(login.id)
  if (current?.version === login.version) return login
  const hasOwner = current !== null || (await tx.users.find(login.userId)) !== null
  if (hasOwner) throw new OutdatedError('the list of consents is out of date')
  throw new OwnerGoneError('the user of the login is gone')
}

/**
 * Providers go on listing consents that have ended: those of connections that were removed do not come back
 * with another link. One that the provider has not ended yet does only where a consent keeps its id when it
 * is given again, and was meant: by a link that was begun after the removal.
 */
function toChoice({ provider, connectionId, institutionId, createdAt }: LinkingRow): Choice {
  const keepsIds = !factsOf(provider).oneConsentPerInstitution
  return {
    isWanted: ({ status }) => status === 'active',
    isWantedAgain({ row, found }, news) {
      const isBefore = row.statusAt !== null && createdAt < row.statusAt
      if (!keepsIds || connectionId !== null || isBefore) return false
      return institutionId === null ? news.length === 0 : institutionId === found.institutionId
    },
  }
}

interface Settling {
  readonly attempt: LinkingRow
  readonly adopted: readonly AdoptedConsent[]
}

/** Whether the audit gets an entry: for a new connection, or a known one whose consent has arrived. */
async function isNews(
  tx: StoreRows,
  { attempt, adopted, arrived }: Settling & { readonly arrived: ReadonlySet<ConnectionId> | null },
): Promise<boolean> {
  if (adopted.some(({ isNew }) => isNew)) return true
  for (const id of arrived ?? []) {
    const row = await tx.connections.find(id)
    const wasKnown = row !== null && row.createdAt < attempt.createdAt
    if (wasKnown || id === attempt.connectionId) return true
  }
  return false
}

/** Ends the attempt when what was meant has arrived, and returns its connections; null: not yet. */
async function settle(
  options: ActionOptions,
  tx: StoreRows,
  { attempt, adopted }: Settling,
): Promise<ReadonlySet<ConnectionId> | null> {
  const meant = selectMeant(
    attempt,
    adopted.map((one) => ({ ...one, institutionId: one.found.institutionId })),
  )
  if (meant.length === 0) return null
  for (const consent of meant) {
    const isRenewal = consent.id === attempt.connectionId
    if (!(await hasArrived(tx, attempt, consent, isRenewal))) return null
  }
  await tx.linkings.end(attempt.id, { at: options.clock.now(), outcome: 'linked' })
  // A new connection is synced anyway; one that was known is read again at once.
  const rows: ConnectionRow[] = []
  for (const { id, isNew } of meant) {
    const row = isNew ? null : await tx.connections.find(id)
    if (row !== null) rows.push(row)
  }
  await requestSyncs(options, tx, rows)
  return new Set(meant.map(({ id }) => id))
}

async function hasArrived(
  tx: StoreRows,
  { userId }: LinkingRow,
  { id, found }: { readonly id: ConnectionId; readonly found: DiscoveredConnection },
  isRenewal: boolean,
): Promise<boolean> {
  if (found.status !== 'active') return false
  if (isRenewal || found.accounts !== null) return true
  return (await tx.accounts.listByConnection(userId, id)).length > 0
}
