/**
 * Users and their plan. A user's deletion takes keys, logins, connections and accounts along by foreign key; the audit
 * stays. What a plan is worth is not decided here.
 */
import { newId, parseUuid, type UserId } from '#kernel/ids.ts'
import type { PlanRow, UserRow, UserStore } from '../port.ts'
import type { Write } from './engine.ts'
import { type Db, moment, momentOrNull } from './tables.ts'

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
] as const

/** The user repository over `db`. */
export function makeUserStore({ db, write }: { db: Db; write: Write }): UserStore {
  return {
    create(user) {
      const email = user.email.trim()
      return write(async (tx, touched) => {
        const row = await tx
          .insertInto('users')
          .values({
            id: newId<UserId>(),
            email,
            email_lower: comparable(email),
            timezone: user.timezone,
            ...planColumns(user),
            epoch: 0,
            password_hash: user.passwordHash ?? null,
            name: user.name ?? null,
            created_at: moment(user.createdAt),
          })
          .onConflict((conflict) => conflict.column('email_lower').doNothing())
          .returning(columns)
          .executeTakeFirst()
        if (row === undefined) return 'taken'
        touched(row.id)
        return row
      })
    },
    list: () =>
      db.selectFrom('users').select(columns).orderBy('created_at').orderBy('id').execute(),
    find: (idOrEmail) => findUser(db, idOrEmail),
    async findAccess(id) {
      const row = await db
        .selectFrom('users')
        .select([
          'id as userId',
          'timezone',
          'plan',
          'plan_status as status',
          'legacy_until as legacyUntil',
          'grandfathered',
          'epoch',
        ])
        .where('id', '=', id)
        .executeTakeFirst()
      return row ?? null
    },
    setPlan(id, plan) {
      return write(async (tx, touched) => {
        const row = await tx
          .updateTable('users')
          .set(planColumns(plan))
          .where('id', '=', id)
          .returning(columns)
          .executeTakeFirst()
        if (row === undefined) return null
        touched(id)
        return row
      })
    },
    setTimezone(id, timezone) {
      return write(async (tx, touched) => {
        const row = await tx
          .updateTable('users')
          .set((set) => ({ timezone, epoch: set('epoch', '+', 1) }))
          .where('id', '=', id)
          .returning(columns)
          .executeTakeFirst()
        if (row === undefined) return null
        touched(id)
        return row
      })
    },
    disarm: (id, at) =>
      write(async (tx, touched) => {
        const row = await tx
          .updateTable('users')
          .set((set) => ({ password_hash: null, epoch: set('epoch', '+', 1) }))
          .where('id', '=', id)
          .returning('id')
          .executeTakeFirst()
        if (row === undefined) return false
        await tx
          .updateTable('api_keys')
          .set({ revoked_at: moment(at) })
          .where('user_id', '=', id)
          .where('revoked_at', 'is', null)
          .execute()
        await tx.deleteFrom('sessions').where('user_id', '=', id).execute()
        await tx.deleteFrom('oauth_grants').where('user_id', '=', id).execute()
        await tx
          .updateTable('connections')
          .set({ status: 'deleting' })
          .where('user_id', '=', id)
          .execute()
        touched(id)
        return true
      }),
    delete: (id) =>
      write(async (tx, touched) => {
        const { numDeletedRows } = await tx
          .deleteFrom('users')
          .where('id', '=', id)
          .executeTakeFirstOrThrow()
        if (numDeletedRows === 0n) return false
        touched(id)
        return true
      }),
  }
}

/** In the transaction of every change that makes cached answers of this user worthless (reading R10). */
export async function bumpEpoch(tx: Db, id: UserId): Promise<void> {
  await tx
    .updateTable('users')
    .set((set) => ({ epoch: set('epoch', '+', 1) }))
    .where('id', '=', id)
    .execute()
}

async function findUser(db: Db, idOrEmail: string): Promise<UserRow | null> {
  const id = parseUuid<UserId>(idOrEmail.trim())
  const query = db.selectFrom('users').select(columns)
  const row = await (id === null
    ? query.where('email_lower', '=', comparable(idOrEmail)).executeTakeFirst()
    : query.where('id', '=', id).executeTakeFirst())
  return row ?? null
}

/** The form in which two spellings of one address are equal. */
function comparable(email: string): string {
  return email.trim().normalize('NFC').toLowerCase()
}

function planColumns(plan: PlanRow) {
  return {
    plan: plan.plan,
    plan_status: plan.status,
    legacy_until: momentOrNull(plan.legacyUntil),
    grandfathered: plan.grandfathered,
  }
}
