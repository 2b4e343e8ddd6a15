/**
 * Accounts of connections. An account keeps its id for life: when the provider renames it, and when it is missing for
 * a while. What is missing is hidden, not deleted, so that it gets its id back when it returns.
 */
import { type AccountId, type ConnectionId, newId, type UserId } from '#kernel/ids.ts'
import type { AccountStore, NewAccount } from '../port.ts'
import type { Engine, Write } from './engine.ts'
import { type KnownAccount, planAccounts } from './plan-accounts.ts'
import type { Db } from './tables.ts'
import { bumpEpoch } from './users.ts'

/** The account repository of `engine`. */
export function makeAccountStore({
  engine,
  write,
}: {
  engine: Engine
  write: Write
}): AccountStore {
  const { db, kind } = engine
  return {
    list: (userId) => selectVisible(db).where('accounts.user_id', '=', userId).execute(),
    listByConnection: (userId, connectionId) => listOf(db, userId, connectionId),
    replace: (connectionId, accounts) =>
      write(async (tx, touched) => {
        // Two syncs of one connection must not both see an account as new. SQLite has one writer anyway.
        const connection = await tx
          .selectFrom('connections')
          .select('user_id as userId')
          .where('id', '=', connectionId)
          .where('status', '<>', 'deleting')
          .$if(kind === 'postgres', (query) => query.forUpdate())
          .executeTakeFirst()
        if (connection === undefined) return []
        const changed = await apply(tx, connection.userId, connectionId, accounts)
        if (changed) {
          await bumpEpoch(tx, connection.userId)
          touched(connection.userId)
        }
        return listOf(tx, connection.userId, connectionId)
      }),
  }
}

/** Writes what differs; true when anything did. */
async function apply(
  tx: Db,
  userId: UserId,
  connectionId: ConnectionId,
  accounts: readonly NewAccount[],
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
  const plan = planAccounts(known, accounts)
  for (const id of plan.hidden)
    await tx.updateTable('accounts').set({ hidden: true }).where('id', '=', id).execute()
  for (const { id, account } of plan.changed)
    await tx.updateTable('accounts').set(toColumns(account)).where('id', '=', id).execute()
  for (const account of plan.added)
    await tx
      .insertInto('accounts')
      .values({
        id: newId<AccountId>(),
        connection_id: connectionId,
        user_id: userId,
        ...toColumns(account),
      })
      .execute()
  return plan.hidden.length + plan.changed.length + plan.added.length > 0
}

function toColumns(account: NewAccount) {
  return {
    upstream_id: account.upstreamId,
    name: account.name,
    type: account.type,
    account_number: account.accountNumber,
    currency: account.currency,
    hidden: false,
  }
}

function listOf(db: Db, userId: UserId, connectionId: ConnectionId) {
  return selectVisible(db)
    .where('accounts.user_id', '=', userId)
    .where('accounts.connection_id', '=', connectionId)
    .execute()
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
