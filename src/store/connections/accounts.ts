/**
 * Accounts of connections. An account keeps its id when the provider renames it and while it is missing: a
 * missing account is hidden, not deleted, so that it has the same id when it returns.
 */
import type { Selectable } from 'kysely'
import { hideNumberShapes } from '#kernel/account-numbers.ts'
import { type AccountId, type ConnectionId, newId, type UserId } from '#kernel/ids.ts'
import type { Engine, Write } from '../engine/engine.ts'
import type { Db, Tables } from '../engine/tables.ts'
import { bumpEpoch, lockUser } from '../people/users.ts'
import type { AccountStore, KnownAccount, ListedAccount, PlanAccounts } from '../ports/accounts.ts'

export function makeAccountStore({
  engine,
  write,
}: {
  engine: Engine
  write: Write
}): AccountStore {
  const { db } = engine
  return {
    async list(userId) {
      const rows = await selectVisible(db).where('accounts.user_id', '=', userId).execute()
      return hideNumbers(rows)
    },
    listByConnection: (userId, connectionId) => listOf(db, userId, connectionId),
    replace: (connectionId, plan, options) =>
      write(async (tx, touched) => {
        const living = tx
          .selectFrom('connections')
          .select([
            'id',
            'user_id as userId',
            'is_renewed as isRenewed',
            'renewed_until as renewedUntil',
          ])
          .where('id', '=', connectionId)
          .where('status', '<>', 'deleting')
        const owner = await living.executeTakeFirst()
        // The user's row is locked, so that two concurrent refreshes do not both insert the same account.
        if (owner === undefined || (await lockUser(engine, tx, owner.userId)) !== 'living')
          return []
        const connection = await living.executeTakeFirst()
        if (connection === undefined) return []
        const { isRenewed, renewedUntil } = connection
        const isLate = options !== undefined && renewedUntil !== null && options.at < renewedUntil
        const changed = await apply(tx, { ...connection, isRenewed, isLate }, plan)
        if (isRenewed) await endRenewal(tx, connectionId)
        if (changed) {
          await bumpEpoch(tx, connection.userId)
          touched(connection.userId)
        }
        return listOf(tx, connection.userId, connectionId)
      }),
  }
}

interface Owner {
  readonly id: ConnectionId
  readonly userId: UserId
  /** Its consent was renewed, and these are the first accounts since. */
  readonly isRenewed: boolean
  /** It was renewed a short time ago: these accounts may be some that were missing in the first list. */
  readonly isLate: boolean
}

/** From now on a new id is a new account. */
async function endRenewal(tx: Db, id: ConnectionId): Promise<void> {
  await tx.updateTable('connections').set({ is_renewed: false }).where('id', '=', id).execute()
}

/** This many rows are one statement, since each statement takes a time of its own. */
const insertBatch = 100

/** Writes the differences; true when there were any. */
async function apply(
  tx: Db,
  { id: connectionId, userId, isRenewed, isLate }: Owner,
  planAccounts: PlanAccounts,
): Promise<boolean> {
  const known: readonly KnownAccount[] = await tx
    .selectFrom('accounts')
    .select([
      'id',
      'upstream_id as upstreamId',
      'name',
      'type',
      'account_number as accountNumber',
      'currency',
      'hidden',
    ])
    .where('connection_id', '=', connectionId)
    .execute()
  const plan = planAccounts(known, { isRenewed, isLate })
  for (const id of plan.hidden)
    await tx.updateTable('accounts').set({ hidden: true }).where('id', '=', id).execute()
  for (const { id, account } of plan.changed)
    await tx.updateTable('accounts').set(toColumns(account)).where('id', '=', id).execute()
  for (let from = 0; from < plan.added.length; from += insertBatch) {
    const rows = plan.added.slice(from, from + insertBatch).map((account) => ({
      id: newId<AccountId>(),
      connection_id: connectionId,
      user_id: userId,
      ...toColumns(account),
    }))
    await tx.insertInto('accounts').values(rows).execute()
  }
  return plan.hidden.length + plan.changed.length + plan.added.length > 0
}

/** The columns of a listed account. Every column of the table must be here, or it does not compile. */
function toColumns(account: ListedAccount) {
  return {
    upstream_id: account.upstreamId,
    name: account.name,
    type: account.type,
    account_number: account.accountNumber,
    currency: account.currency,
    hidden: false,
  } satisfies Omit<Selectable<Tables['accounts']>, 'id' | 'connection_id' | 'user_id'>
}

/** The owner is asked of the connection: an index of all accounts of the user must not be walked through. */
async function listOf(db: Db, userId: UserId, connectionId: ConnectionId) {
  const rows = await selectVisible(db)
    .where('connections.user_id', '=', userId)
    .where('accounts.connection_id', '=', connectionId)
    .execute()
  return hideNumbers(rows)
}

/** Names stored before masking by shape are masked when read; the next refresh stores them so. */
function hideNumbers<Row extends { readonly name: string; readonly institutionName: string }>(
  rows: readonly Row[],
): Row[] {
  // Accounts of one institution have its name in common, and masking takes longer than the query.
  const known = new Map<string, string>()
  const mask = (text: string) => known.getOrInsertComputed(text, hideNumberShapes)
  return rows.map((row) => {
    return { ...row, name: mask(row.name), institutionName: mask(row.institutionName) }
  })
}

function selectVisible(db: Db) {
  return db
    .selectFrom('accounts')
    .innerJoin('connections', 'connections.id', 'accounts.connection_id')
    .select([
      'accounts.id',
      'accounts.connection_id as connectionId',
      'accounts.user_id as userId',
      'connections.provider',
      'connections.institution_name as institutionName',
      'accounts.upstream_id as upstreamId',
      'accounts.name',
      'accounts.type',
      'accounts.account_number as accountNumber',
      'accounts.currency',
    ])
    .where('accounts.hidden', '=', false)
    .where('connections.status', '<>', 'deleting')
}
