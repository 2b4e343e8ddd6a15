/**
 * Reads a login's connections from the provider again and stores what changed: status, institution, accounts,
 * time of the last refresh. Providers list consents per login, so the other connections of the login are
 * updated too. It adopts no new connection, because people decide what is linked. Results obtained with
 * credentials that were replaced meanwhile change no status.
 */
import { type By, mayActFor } from '#contract/actor.ts'
import type { AuditDetails } from '#contract/audit.ts'
import { apiError } from '#contract/errors.ts'
import type { ConnectionId, UserId } from '#kernel/ids.ts'
import { UpstreamError } from '#providers/failure.ts'
import { toUpstreamApiError } from '#providers/guard.ts'
import type { DiscoveredConnection } from '#providers/port.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'
import type { LoginRow } from '#store/ports/logins.ts'
import type { StoreRows } from '#store/ports/store.ts'
import {
  type Asker,
  type AskOptions,
  askProvider,
  getAdapter,
  limitTime,
  toLogin,
} from './ask-provider.ts'
import { holdConnections, reconcile } from './discovery/reconcile.ts'
import { settleStatus, updateConnection } from './discovery/save-discovery.ts'
import { withinBounds } from './held-bounds.ts'
import { listenTo } from './listen-to.ts'
import { markLost } from './mark-lost.ts'
import type { ActionOptions } from './options.ts'
import { inTime } from './turns.ts'

export type RefreshConnection = (
  by: By,
  id: ConnectionId,
  askOptions: Asker,
) => Promise<ConnectionRow>

/**
 * Makes the action. Lost consent or credentials are a result, not a failure: the connection is returned with
 * its new status.
 * @throws ApiError `connection_not_found`, `provider_not_configured`, `too_many_connections`, other upstream
 *   failures by the mapping of `guard.ts`; `provider_unavailable` when its turn does not come in time.
 */
export function makeRefreshConnection(options: ActionOptions): RefreshConnection {
  return async (by, id, askOptions) => {
    const { userId, loginId } = await findLiving(options, id)
    if (!mayActFor(by, userId)) throw apiError('connection_not_found')
    const note = toNote(options, by, { userId, details: { connectionId: id } })
    const refresh = async (limited: AskOptions) => {
      const row = await findLiving(options, id)
      const login = await options.store.logins.get(row.loginId)
      if (login === null) throw new Error(`connection ${id} has no login`)
      await refreshLogin(options, login, { ...limited, note })
      return findLiving(options, id)
    }
    // A person does not wait to the end, and whatever else refreshes has a time of its own.
    if (by.actor.kind !== 'operator') {
      return options.queue.take(loginId, () => refresh(limitTime(options, askOptions)))
    }
    const limited = limitTime(options, askOptions)
    return inTime(options, { key: loginId, kind: 'refresh' }, limited, () => refresh(limited))
  }
}

async function findLiving(options: ActionOptions, id: ConnectionId): Promise<ConnectionRow> {
  const row = await options.store.connections.find(id)
  if (row === null || row.status === 'deleting') throw apiError('connection_not_found')
  return row
}

/** Writes the audit row of the refresh; nothing for refreshes that the service makes itself during a read. */
type Note = (tx: Pick<StoreRows, 'audit'>) => Promise<void>

function toNote(
  { clock }: ActionOptions,
  { actor }: By,
  about: { readonly userId: UserId; readonly details: AuditDetails['connections.refresh'] },
): Note {
  if (actor.kind === 'system') return async () => {}
  const entry = { actor, action: 'connections.refresh', ...about } as const
  return (tx) => tx.audit({ at: clock.now(), ...entry })
}

/** As often as another process may change the consents meanwhile; then the next refresh finds out. */
const maxTries = 3

type RefreshOptions = AskOptions & { readonly note: Note }

async function refreshLogin(
  options: ActionOptions,
  first: LoginRow,
  askOptions: RefreshOptions,
): Promise<void> {
  let login: LoginRow | null = first
  for (let tries = 0; tries < maxTries && login !== null; tries += 1) {
    if (await refreshOnce(options, login, askOptions)) return
    login = await options.store.logins.get(first.id)
  }
  await options.store.transact(askOptions.note)
}

/** False, with nothing stored, when consents of the login came or went while the provider was asked. */
async function refreshOnce(
  options: ActionOptions,
  login: LoginRow,
  { note, ...askOptions }: RefreshOptions,
): Promise<boolean> {
  const adapter = getAdapter(options.adapters, login.provider)
  let discovered: readonly DiscoveredConnection[]
  try {
    discovered = await askProvider(login.provider, askOptions, (call) =>
      adapter.discover(toLogin(login), call),
    )
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error
    if (error.failure.kind !== 'consent_lost') throw toUpstreamApiError(error)
    // The provider refused the credentials themselves.
    const { becomes } = error.failure
    return options.store.transact(async (tx) => {
      if (!(await isCurrent(tx, login))) return false
      await markLost(tx, { login, connectionId: null, becomes })
      await note(tx)
      return true
    })
  }
  const isSaved = await options.store.transact(async (tx) => {
    if (!(await isCurrent(tx, login))) return false
    const saving = { ...options, store: tx }
    const { known, absent } = reconcile(await holdConnections(tx, login), discovered)
    await withinBounds(tx, login.userId, async () => {
      for (const pair of known) await updateConnection(saving, login, pair)
    })
    for (const row of absent) await settleStatus(saving, login, row, 'revoked')
    if (known.some(({ isRenewed }) => isRenewed)) await tx.logins.noteConsents(login.id)
    await note(tx)
    return true
  })
  if (isSaved) await listenTo(options, login, askOptions)
  return isSaved
}

/** The login stays as it is until the transaction ends. */
async function isCurrent(tx: StoreRows, { id, version }: LoginRow): Promise<boolean> {
  return (await tx.logins.hold(id))?.version === version
}
