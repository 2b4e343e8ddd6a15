/**
 * What earlier syncs have seen: the sealed key of each user's fingerprints, and the months of each account as
 * bytes. Beginning, ending and reading a ledger in a transaction lock the user's row, so that it does not end
 * during a write.
 */
import { randomBytes } from 'node:crypto'
import { type AccountId, type FeedId, newId, type UserId } from '#kernel/ids.ts'
import { inBatches } from '../engine/batches.ts'
import { isBrokenReference } from '../engine/broken-reference.ts'
import type { Engine, SealingOptions } from '../engine/engine.ts'
import type { Db } from '../engine/tables.ts'
import { OwnerGoneError } from '../failure.ts'
import { demandUser, lockUser, lockUserSoon, type UserState } from '../people/users.ts'
import type { LedgerMonth, LedgerStore } from '../ports/ledgers.ts'
import type { SealedSecret, Sealer } from '../seal.ts'

const purpose = 'ledger-key'
const keyBytes = 32

export function makeLedgerStore({ engine, write, sealer }: SealingOptions): LedgerStore {
  const { db } = engine
  return {
    begin: (userId) =>
      write(async (tx) => {
        await demandUser(engine, tx, userId)
        await tx
          .insertInto('ledger_keys')
          .values({ user_id: userId, ...sealLedgerKey(sealer, userId, randomBytes(keyBytes)) })
          .onConflict((conflict) => conflict.column('user_id').doNothing())
          .execute()
      }),
    async readKey(userId) {
      // The lock on the user's row: `end` waits for this transaction, or has committed before.
      if (db.isTransaction && (await lockUser(engine, db, userId)) !== 'living') return null
      const row = await selectKey(db, { userId }).executeTakeFirst()
      return row === undefined ? null : openLedgerKey(sealer, userId, row)
    },
    checkKey: (userId, check) =>
      write(async (tx) => {
        let isLiving = false
        const found = (state: UserState) => {
          isLiving = state === 'living'
        }
        await lockUserSoon(engine, tx, { id: userId, found })
        await engine.later(tx, engine.queries.compile(selectKey, tx, { userId }), {
          check([row]) {
            const isKept = isLiving && row !== undefined
            check(isKept ? openLedgerKey(sealer, userId, row) : null)
          },
        })
      }),
    end: (userId) => write((tx) => end(engine, tx, userId)),
    read: (accountIds) =>
      inBatches(accountIds, async (ids) => {
        const query = engine.queries.compile(selectMonths, db, { ids })
        return (await db.executeQuery(query)).rows
      }),
    write: (months) =>
      write(async (tx) => {
        await inBatches(months, (batch) => upsert(engine, tx, batch))
      }),
    dropBefore: (accountIds, month) =>
      write(async (tx) => {
        await inBatches(accountIds, (ids) => dropBefore(tx, ids, month))
      }),
    readPending: (accountIds) => readPending(db, accountIds),
    writePending: (ids) => write((tx) => writePending(tx, ids)),
    measure: () => measure(db),
  }
}

function selectKey(db: Db, { userId }: { readonly userId: UserId }) {
  const columns = ['secret', 'secret_key as secretKey'] as const
  return db.selectFrom('ledger_keys').select(columns).where('user_id', '=', userId)
}

async function end(engine: Engine, tx: Db, userId: UserId): Promise<void> {
  if ((await lockUser(engine, tx, userId)) === null) return
  await tx.deleteFrom('ledger_keys').where('user_id', '=', userId).execute()
  await tx
    .deleteFrom('ledger_months')
    .where('account_id', 'in', (query) =>
      query.selectFrom('accounts').select('id').where('user_id', '=', userId),
    )
    .execute()
  await tx
    .deleteFrom('pending_ledgers')
    .where('account_id', 'in', (query) =>
      query.selectFrom('accounts').select('id').where('user_id', '=', userId),
    )
    .execute()
  // What follows is another feed: cursors of before are not valid in it.
  const another = { id: newId<FeedId>() }
  await tx.updateTable('event_feeds').set(another).where('user_id', '=', userId).execute()
  // The ledger no longer has any of their rows.
  await tx.updateTable('syncs').set({ ledger_from: null }).where('user_id', '=', userId).execute()
}

async function upsert(
  engine: Engine,
  tx: Db,
  months: readonly LedgerMonth[],
): Promise<readonly never[]> {
  const rows = months.map(({ accountId, month, entries }) => ({
    account_id: accountId,
    month,
    entries,
  }))
  await engine.later(tx, engine.queries.compile(upsertMonths, tx, { rows }), { toError })
  return []
}

interface MonthColumns {
  readonly account_id: AccountId
  readonly month: number
  readonly entries: Uint8Array
}

const upsertMonths = (tx: Db, { rows }: { readonly rows: readonly MonthColumns[] }) =>
  tx
    .insertInto('ledger_months')
    .values(rows)
    .onConflict((conflict) =>
      conflict
        .columns(['account_id', 'month'])
        .doUpdateSet((set) => ({ entries: set.ref('excluded.entries') })),
    )

const selectMonths = (db: Db, { ids }: { readonly ids: readonly AccountId[] }) =>
  db
    .selectFrom('ledger_months')
    .select(['account_id as accountId', 'month', 'entries'])
    .where('account_id', 'in', ids)

async function dropBefore(
  tx: Db,
  accountIds: readonly AccountId[],
  month: number,
): Promise<readonly never[]> {
  await tx
    .deleteFrom('ledger_months')
    .where('account_id', 'in', accountIds)
    .where('month', '<', month)
    .execute()
  return []
}

async function readPending(
  db: Db,
  accountIds: readonly AccountId[],
): Promise<ReadonlyMap<AccountId, readonly string[]>> {
  const rows = await inBatches(accountIds, (ids) =>
    db
      .selectFrom('pending_ledgers')
      .select(['account_id as accountId', 'ids'])
      .where('account_id', 'in', ids)
      .execute(),
  )
  return new Map(rows.map(({ accountId, ids }) => [accountId, ids.split(' ')]))
}

async function writePending(
  tx: Db,
  given: ReadonlyMap<AccountId, readonly string[]>,
): Promise<void> {
  for (const [accountId, ids] of given) {
    if (ids.length === 0) {
      await tx.deleteFrom('pending_ledgers').where('account_id', '=', accountId).execute()
      continue
    }
    await tx
      .insertInto('pending_ledgers')
      .values({ account_id: accountId, ids: ids.join(' ') })
      .onConflict((conflict) =>
        conflict.column('account_id').doUpdateSet((set) => ({ ids: set.ref('excluded.ids') })),
      )
      .execute()
      .catch((cause: unknown) => {
        throw toError(cause)
      })
  }
}

/** The accounts of a removed connection are deleted with it. */
const toError = (cause: unknown): unknown =>
  isBrokenReference(cause)
    ? new OwnerGoneError('an account of the ledger is gone', { cause })
    : cause

async function measure(db: Db): ReturnType<LedgerStore['measure']> {
  const row = await db
    .selectFrom('ledger_months')
    .select(({ fn }) => [fn.countAll().as('months'), fn.sum(fn('length', ['entries'])).as('bytes')])
    .executeTakeFirstOrThrow()
  return { months: Number(row.months), bytes: Number(row.bytes ?? 0) }
}

/** The columns of a key under the current key of the store. */
export function sealLedgerKey(sealer: Sealer, userId: UserId, key: Uint8Array) {
  return { secret: sealer.seal(purpose, rowName(userId), key), secret_key: sealer.current }
}

/** The key in plain text. @throws SealError when it cannot be decrypted. */
export function openLedgerKey(sealer: Sealer, userId: UserId, row: SealedSecret): Uint8Array {
  return sealer.open(purpose, rowName(userId), row.secret, row.secretKey)
}

const rowName = (userId: UserId): string => JSON.stringify(['ledger_keys', userId])
