/**
 * Users and their plan. A deletion begins with a mark that is never removed: from then on no process finds
 * the user or adds anything to them. It ends with deleting the row; keys, logins, connections and accounts
 * are deleted by foreign key, the audit stays. What a plan allows is not decided here.
 */
import { type CompiledQuery, sql, type UpdateObject } from 'kysely'
import { comparableEmails, tidyEmail } from '#contract/email.ts'
import { newId, parseUuid, type UserId } from '#kernel/ids.ts'
import { inBatches } from '../engine/batches.ts'
import type { Engine, RepositoryOptions, Write } from '../engine/engine.ts'
import { findFirst, hasChanged } from '../engine/rows.ts'
import { type Db, isBefore, moment, momentOrNull, type Tables } from '../engine/tables.ts'
import { OwnerGoneError } from '../failure.ts'
import type { NewUser, PlanRow, UserRow, UserStore } from '../ports/users.ts'
import { readStandings } from './user-standings.ts'

const columns = [
  'id',
  'email',
  'name',
  'timezone',
  'plan',
  'plan_status as status',
  'legacy_until as legacyUntil',
  'grandfathered',
  'created_at as createdAt',
  'email_confirmed_at as emailConfirmedAt',
  'show_balances as showsBalances',
] as const

/** The columns by which a caller is judged. */
export const accessColumns = [
  'users.timezone',
  'users.epoch',
  'users.plan',
  'users.plan_status as status',
  'users.legacy_until as legacyUntil',
  'users.grandfathered',
] as const

export function makeUserStore({ engine, write }: RepositoryOptions): UserStore {
  return { ...makeReads(engine.db), ...makeChanges(engine, write), ...makeEnds(write) }
}

type Reads = 'list' | 'listPage' | 'listStandings' | 'find' | 'listDeleting' | 'findAccess'

function makeReads(db: Db): Pick<UserStore, Reads> {
  return {
    list: () =>
      db
        .selectFrom('users')
        .select(columns)
        .where('deleting_at', 'is', null)
        .orderBy('created_at')
        .orderBy('id')
        .execute(),
    listPage({ after, limit }) {
      const page = db
        .selectFrom('users')
        .select(columns)
        .where('deleting_at', 'is', null)
        .orderBy('created_at')
        .orderBy('id')
        .limit(limit)
      if (after === null) return page.execute()
      const place = sql<boolean>`(created_at, id) > (${moment(after.createdAt)}, ${after.id})`
      return page.where(place).execute()
    },
    listStandings: (ids) => inBatches(ids, (batch) => readStandings(db, batch)),
    async find(idOrEmail, { deleting = false } = {}) {
      const id = parseUuid<UserId>(idOrEmail.trim())
      const spellings = comparableEmails(idOrEmail)
      const query =
        id === null
          ? selectByEmail(db, spellings)
          : db.selectFrom('users').select(columns).where('id', '=', id)
      return findFirst(deleting ? query : query.where('deleting_at', 'is', null))
    },
    async listDeleting({ before, limit }) {
      const rows = await db
        .selectFrom('users')
        .select('id')
        // The condition of the partial index, in its words: both engines must recognise it.
        .where('deleting_at', 'is not', null)
        .where(isBefore('deleting_at', before))
        .orderBy('deleting_at')
        .orderBy('id')
        .limit(limit)
        .execute()
      return rows.map((row) => row.id)
    },
    async findAccess(id) {
      return findFirst(
        db
          .selectFrom('users')
          .select(['id as userId', ...accessColumns])
          .where('id', '=', id)
          .where('deleting_at', 'is', null),
      )
    },
  }
}

function makeChanges(
  engine: Engine,
  write: Write,
): Pick<
  UserStore,
  'create' | 'setPlan' | 'setName' | 'setShowsBalances' | 'setTimezone' | 'confirmEmail' | 'outdate'
> {
  return {
    create: (user) => write((tx, touched) => createUser(tx, user, touched)),
    setPlan: (id, plan) =>
      write(async (tx, touched) => {
        const row = await update(tx, id, planColumns(plan))
        if (row !== null) touched(id)
        return row
      }),
    setName: (id, name) => update(engine.db, id, { name }),
    setShowsBalances: (id, showsBalances) =>
      update(engine.db, id, { show_balances: showsBalances }),
    setTimezone: (id, timezone) =>
      write(async (tx, touched) => {
        const row = await update(tx, id, { timezone, epoch: sql<number>`epoch + 1` })
        if (row !== null) touched(id)
        return row
      }),
    confirmEmail: (id, at) => confirmEmail(engine.db, id, at),
    outdate: (id) =>
      write(async (tx, touched) => {
        await engine.later(tx, nextEpoch(tx, id).compile())
        touched(id)
      }),
  }
}

/** The row as it is then; null: there is no such user, or they are being deleted. */
function update(
  db: Db,
  id: UserId,
  values: UpdateObject<Tables, 'users'>,
): Promise<UserRow | null> {
  return findFirst(
    db
      .updateTable('users')
      .set(values)
      .where('id', '=', id)
      .where('deleting_at', 'is', null)
      .returning(columns),
  )
}

async function confirmEmail(db: Db, id: UserId, at: number): Promise<boolean> {
  return hasChanged(
    db
      .updateTable('users')
      .set({ email_confirmed_at: sql<Date>`coalesce(email_confirmed_at, ${moment(at)})` })
      .where('id', '=', id)
      .where('deleting_at', 'is', null),
  )
}

async function createUser(
  tx: Db,
  user: NewUser,
  touched: (id: UserId) => void,
): Promise<UserRow | 'taken'> {
  const email = tidyEmail(user.email)
  const spellings = comparableEmails(email)
  const [held] = await selectByEmail(tx, spellings).execute()
  if (held !== undefined) return 'taken'
  const row = await tx
    .insertInto('users')
    .values({
      id: newId<UserId>(),
      email,
      email_lower: spellings[0],
      timezone: user.timezone,
      ...planColumns(user),
      epoch: 0,
      password_hash: user.passwordHash ?? null,
      name: user.name ?? null,
      created_at: moment(user.createdAt),
      email_confirmed_at: momentOrNull(user.emailConfirmedAt ?? null),
    })
    .onConflict((conflict) => conflict.column('email_lower').doNothing())
    .returning(columns)
    .executeTakeFirst()
  if (row === undefined) return 'taken'
  touched(row.id)
  return row
}

/** The two steps of a user's deletion: remove all access, then delete the rows. */
function makeEnds(write: Write): Pick<UserStore, 'disarm' | 'disarmUnconfirmed' | 'delete'> {
  return {
    disarm: (id, at) =>
      write(async (tx, touched) => {
        const isDone = await endAccess(tx, markDeleting(tx, id, at), { id, at })
        if (isDone) touched(id)
        return isDone
      }),
    disarmUnconfirmed: (id, at) =>
      write(async (tx, touched) => {
        const mark = markDeleting(tx, id, at)
          .where('deleting_at', 'is', null)
          .where('email_confirmed_at', 'is', null)
        if (!(await endAccess(tx, mark, { id, at }))) return false
        // No address is spelled like an id.
        await tx.updateTable('users').set({ email_lower: id }).where('id', '=', id).execute()
        touched(id)
        return true
      }),
    delete: (id) =>
      write(async (tx, touched) => {
        if (!(await hasChanged(tx.deleteFrom('users').where('id', '=', id)))) return false
        living.get(tx)?.delete(id)
        touched(id)
        return true
      }),
  }
}

function markDeleting(tx: Db, id: UserId, at: number) {
  return tx
    .updateTable('users')
    .set((set) => ({
      password_hash: null,
      epoch: set('epoch', '+', 1),
      // A repeated call keeps the time of the first one.
      deleting_at: sql<Date>`coalesce(deleting_at, ${moment(at)})`,
    }))
    .where('id', '=', id)
}

/** Marks the user and removes all access in their name; false when `mark` finds nobody. */
async function endAccess(
  tx: Db,
  mark: ReturnType<typeof markDeleting>,
  { id, at }: { readonly id: UserId; readonly at: number },
): Promise<boolean> {
  const row = await mark.returning('email_lower as emailLower').executeTakeFirst()
  if (row === undefined) return false
  living.get(tx)?.delete(id)
  await tx
    .updateTable('api_keys')
    .set({ revoked_at: moment(at) })
    .where('user_id', '=', id)
    .where('revoked_at', 'is', null)
    .execute()
  await tx.deleteFrom('programs').where('user_id', '=', id).execute()
  await tx.deleteFrom('sessions').where('user_id', '=', id).execute()
  // An invitation has the address and no user.
  await tx.deleteFrom('mailed_links').where('email_lower', '=', row.emailLower).execute()
  await tx.deleteFrom('oauth_grants').where('user_id', '=', id).execute()
  await tx.deleteFrom('webhook_endpoints').where('user_id', '=', id).execute()
  await tx
    .updateTable('connections')
    .set({ status: 'deleting' })
    .where('user_id', '=', id)
    .execute()
  return true
}

/**
 * Call it in the transaction of every change that makes cached answers of this user invalid (reading R10).
 */
export async function bumpEpoch(tx: Db, id: UserId): Promise<void> {
  await nextEpoch(tx, id).execute()
}

function nextEpoch(tx: Db, id: UserId) {
  return tx
    .updateTable('users')
    .set((set) => ({ epoch: set('epoch', '+', 1) }))
    .where('id', '=', id)
}

/**
 * Locks the user's row until the transaction ends; null when there is none. It is the first step of every
 * write to a user's data, so that the writers of one user run one after another; rows are always locked in
 * the order user, login, connection, account. A writer either sees the mark of a deletion, or the deletion
 * waits and sees what was written.
 */
export async function lockUser(engine: Engine, tx: Db, id: UserId): Promise<UserState> {
  if (living.get(tx)?.has(id)) return 'living'
  const { rows } = await tx.executeQuery(selectLocked(engine, tx, id))
  return noteUser(tx, id, rows)
}

export type UserState = 'living' | 'deleting' | null

/**
 * As `lockUser`, with the next statement of the transaction: `found` is called before the rows of that one
 * are returned. Then the lock is held, and that statement sees what was committed before it.
 */
export async function lockUserSoon(
  engine: Engine,
  tx: Db,
  { id, found }: { readonly id: UserId; readonly found: (state: UserState) => void },
): Promise<void> {
  if (living.get(tx)?.has(id)) return found('living')
  await engine.later(tx, selectLocked(engine, tx, id), {
    check: (rows) => found(noteUser(tx, id, rows)),
  })
}

function selectLocked({ kind, queries }: Engine, tx: Db, id: UserId): CompiledQuery<LockedRow> {
  // SQLite has a single writer: no lock is needed.
  return queries.compile(kind === 'postgres' ? selectForUpdate : selectUser, tx, { id })
}

const selectUser = (tx: Db, { id }: { readonly id: UserId }) =>
  tx.selectFrom('users').select('deleting_at as deletingAt').where('id', '=', id)

const selectForUpdate = (tx: Db, of: { readonly id: UserId }) => selectUser(tx, of).forNoKeyUpdate()

interface LockedRow {
  readonly deletingAt: number | null
}

function noteUser(tx: Db, id: UserId, [row]: readonly LockedRow[]): UserState {
  if (row === undefined) return null
  if (row.deletingAt !== null) return 'deleting'
  if (tx.isTransaction) living.getOrInsertComputed(tx, () => new Set()).add(id)
  return 'living'
}

/** Users whom a transaction locked and found not being deleted; no other changes that before it ends. */
const living = new WeakMap<Db, Set<UserId>>()

/** As `lockUser`, for writes that are not allowed once the user is being deleted. @throws OwnerGoneError */
export async function demandUser(engine: Engine, tx: Db, id: UserId): Promise<void> {
  refuseUnlessLiving(await lockUser(engine, tx, id))
}

/** Does what `demandUser` does, together with the next statement of the transaction. */
export function demandUserSoon(engine: Engine, tx: Db, id: UserId): Promise<void> {
  return lockUserSoon(engine, tx, { id, found: refuseUnlessLiving })
}

function refuseUnlessLiving(state: UserState): void {
  if (state !== 'living') throw new OwnerGoneError('the user is gone or being deleted')
}

/** Users with the address in any of its spellings; the spelling that was given comes first. */
function selectByEmail(db: Db, spellings: readonly [string, ...string[]]) {
  return db
    .selectFrom('users')
    .select(columns)
    .where('email_lower', 'in', spellings)
    .orderBy((column) => column.case().when('email_lower', '=', spellings[0]).then(0).else(1).end())
}

function planColumns(plan: PlanRow) {
  return {
    plan: plan.plan,
    plan_status: plan.status,
    legacy_until: momentOrNull(plan.legacyUntil),
    grandfathered: plan.grandfathered,
  }
}
