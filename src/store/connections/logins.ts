/**
 * Logins at the providers and their secrets. Secrets are stored encrypted and returned decrypted. The
 * ciphertext is bound to its row, so that a copy in another user's row does not open.
 */
import { sql } from 'kysely'
import { type LoginId, newId, type UserId } from '#kernel/ids.ts'
import type { Millis } from '#kernel/time.ts'
import type { Engine, SealingOptions } from '../engine/engine.ts'
import { findFirst, hasChanged } from '../engine/rows.ts'
import { type Db, isAfter } from '../engine/tables.ts'
import { LoginTakenError } from '../failure.ts'
import { bumpEpoch, demandUser, lockUser } from '../people/users.ts'
import type { LoginName, LoginRow, LoginStore } from '../ports/logins.ts'
import type { SealedSecret, Sealer } from '../seal.ts'

const bareColumns = [
  'id',
  'user_id as userId',
  'provider',
  'upstream_user_id as upstreamUserId',
  'version',
  'is_ours as isOurs',
] as const

const columns = [...bareColumns, 'secret', 'secret_key as secretKey'] as const

const purpose = 'login-secret'

export function makeLoginStore(options: SealingOptions): LoginStore {
  return {
    save: makeSave(options),
    ...makeReads(options),
    ...makeHolds(options),
    ...makeEnds(options),
  }
}

function makeSave({ engine, write, sealer }: SealingOptions): LoginStore['save'] {
  return (login) =>
    write(async (tx, touched) => {
      await demandUser(engine, tx, login.userId)
      if (login.isExclusive === true) await refuseTaken(engine, tx, login)
      await bumpEpoch(tx, login.userId)
      touched(login.userId)
      const row = await tx
        .insertInto('logins')
        .values({
          id: newId<LoginId>(),
          user_id: login.userId,
          provider: login.provider,
          upstream_user_id: login.upstreamUserId,
          is_ours: login.isOurs ?? false,
          ...sealedColumns(sealer, login, login.secret),
        })
        .onConflict((conflict) =>
          conflict.columns(['user_id', 'provider', 'upstream_user_id']).doUpdateSet((set) => ({
            secret: set.ref('excluded.secret'),
            secret_key: set.ref('excluded.secret_key'),
            version: set('logins.version', '+', 1),
            is_ending: false,
          })),
        )
        .returning(columns)
        .executeTakeFirstOrThrow()
      return opened(sealer, row)
    })
}

/** The lock makes two users who link the same login at the same time take turns. @throws LoginTakenError */
async function refuseTaken(engine: Engine, tx: Db, login: LoginName): Promise<void> {
  const { userId, provider, upstreamUserId } = login
  await engine.lock(tx, `login ${provider} ${upstreamUserId}`)
  const other = await tx
    .selectFrom('logins')
    .select('id')
    .where('provider', '=', provider)
    .where('upstream_user_id', '=', upstreamUserId)
    .where('user_id', '!=', userId)
    .limit(1)
    .executeTakeFirst()
  if (other !== undefined) throw new LoginTakenError('another user has this login')
}

type Reads = 'get' | 'list' | 'listIds' | 'find' | 'listByUpstream' | 'listAbandoned'

function makeReads({ engine, sealer }: SealingOptions): Pick<LoginStore, Reads> {
  const { db } = engine
  return {
    async get(id) {
      const row = await db
        .selectFrom('logins')
        .select(columns)
        .where('id', '=', id)
        .executeTakeFirst()
      return row === undefined ? null : opened(sealer, row)
    },
    async list(userId) {
      const rows = await db
        .selectFrom('logins')
        .select(columns)
        .where('user_id', '=', userId)
        .orderBy('id')
        .execute()
      return rows.map((row) => opened(sealer, row))
    },
    async listIds(userId) {
      const rows = await db
        .selectFrom('logins')
        .select('id')
        .where('user_id', '=', userId)
        .orderBy('id')
        .execute()
      return rows.map((row) => row.id)
    },
    async find(id) {
      return findFirst(db.selectFrom('logins').select(bareColumns).where('id', '=', id))
    },
    listByUpstream: ({ provider, upstreamUserId, limit }) =>
      db
        .selectFrom('logins')
        .select(bareColumns)
        .where('provider', '=', provider)
        .where('upstream_user_id', '=', upstreamUserId)
        .orderBy('id')
        .limit(limit)
        .execute(),
    listAbandoned: (page) => selectAbandoned(db, page).execute(),
  }
}

function selectAbandoned(
  db: Db,
  { now, after, limit }: Parameters<LoginStore['listAbandoned']>[0],
) {
  const abandoned = db
    .selectFrom('logins')
    .select(bareColumns)
    .where(({ not, exists }) => not(exists(selectConnections(db))))
    .where(({ not, exists }) => not(exists(selectLinks(db, now))))
    .orderBy('id')
    .limit(limit)
  return after === null ? abandoned : abandoned.where('id', '>', after)
}

/** Those of the login. */
const selectConnections = (db: Db) =>
  db
    .selectFrom('connections')
    .select('connections.id')
    .where('connections.login_id', '=', sql.ref<LoginId>('logins.id'))

/** Those that were begun with the login and may come back. */
const selectLinks = (db: Db, now: Millis) =>
  db
    .selectFrom('link_attempts')
    .select('link_attempts.id')
    .where('link_attempts.login_id', '=', sql.ref<LoginId>('logins.id'))
    .where(isAfter('link_attempts.expires_at', now))

type Holds = 'hold' | 'holdNamed' | 'noteConsents'

/** What guards against a login that others change meanwhile; the user's row is locked first. */
function makeHolds({ engine, write }: SealingOptions): Pick<LoginStore, Holds> {
  const hold = async (tx: Db, id: LoginId) => {
    const select = () =>
      tx
        .selectFrom('logins')
        .select([...bareColumns, 'is_ending as isEnding'])
        .where('id', '=', id)
    const row = await select().executeTakeFirst()
    if (row === undefined || (await lockUser(engine, tx, row.userId)) !== 'living') return null
    // As it is now that nobody else can change it.
    const held = (await select().executeTakeFirst()) ?? null
    if (held?.isEnding !== true) return held
    const living = await tx
      .selectFrom('connections')
      .select('id')
      .where('login_id', '=', id)
      .where('status', '<>', 'deleting')
      .limit(1)
      .executeTakeFirst()
    return { ...held, isEnding: living === undefined }
  }
  return {
    hold: (id) => write((tx) => hold(tx, id)),
    holdNamed: ({ userId, provider, upstreamUserId }) =>
      write(async (tx) => {
        await demandUser(engine, tx, userId)
        const named = await tx
          .selectFrom('logins')
          .select('id')
          .where('user_id', '=', userId)
          .where('provider', '=', provider)
          .where('upstream_user_id', '=', upstreamUserId)
          .executeTakeFirst()
        return named?.id ?? null
      }),
    noteConsents: (id) =>
      write(async (tx) => {
        if ((await hold(tx, id)) === null) return
        await tx
          .updateTable('logins')
          .set((set) => ({ version: set('version', '+', 1) }))
          .where('id', '=', id)
          .execute()
      }),
  }
}

/** What ends a secret or a login; the user's row is locked first. */
function makeEnds({
  engine,
  write,
}: SealingOptions): Pick<LoginStore, 'forgetSecret' | 'startEnding' | 'deleteUnused'> {
  return {
    forgetSecret: ({ id, version }) =>
      write(async (tx, touched) => {
        const userId = await lockOwner(engine, tx, id)
        if (userId === null) return false
        if (
          !(await hasChanged(
            tx
              .updateTable('logins')
              .set((set) => ({ secret: null, secret_key: null, version: set('version', '+', 1) }))
              .where('id', '=', id)
              .where('version', '=', version),
          ))
        )
          return false
        await bumpEpoch(tx, userId)
        touched(userId)
        return true
      }),
    startEnding: (id, { now, but }) =>
      write(async (tx) => {
        if ((await lockOwner(engine, tx, id)) === null) return false
        const all = selectConnections(tx)
        const others = but === undefined ? all : all.where('connections.id', '<>', but)
        const open = selectLinks(tx, now).where('link_attempts.ended_at', 'is', null)
        const row = await tx
          .updateTable('logins')
          .set(({ and, not, exists }) => ({
            is_ending: and([not(exists(others)), not(exists(open))]).$castTo<boolean>(),
          }))
          .where('id', '=', id)
          .returning('is_ending as isEnding')
          .executeTakeFirst()
        return row?.isEnding === true
      }),
    deleteUnused: (id) =>
      write(async (tx, touched) => {
        // Saving the same login locks the user's row too, so the two cannot overlap.
        const userId = await lockOwner(engine, tx, id)
        if (userId === null) return
        const { numDeletedRows } = await tx
          .deleteFrom('logins')
          .where('id', '=', id)
          .where(({ not, exists }) => not(exists(selectConnections(tx))))
          .executeTakeFirstOrThrow()
        if (numDeletedRows > 0n) touched(userId)
      }),
  }
}

/** The columns of a secret sealed under the current key. */
export function sealedColumns(sealer: Sealer, name: LoginName, secret: string | null) {
  if (secret === null) return { secret: null, secret_key: null }
  return {
    secret: sealer.seal(purpose, identity(name), Buffer.from(secret, 'utf8')),
    secret_key: sealer.current,
  }
}

/** The decrypted secret. @throws SealError when it does not open. */
export function openSecret(sealer: Sealer, row: LoginName & SealedSecret): string {
  const opened = sealer.open(purpose, identity(row), row.secret, row.secretKey)
  return Buffer.from(opened).toString('utf8')
}

function identity({ userId, provider, upstreamUserId }: LoginName): string {
  return JSON.stringify(['logins', userId, provider, upstreamUserId])
}

function opened(
  sealer: Sealer,
  {
    secret,
    secretKey,
    ...row
  }: Omit<LoginRow, 'secret'> &
    Omit<SealedSecret, 'secret'> & { readonly secret: Uint8Array | null },
): LoginRow {
  return {
    ...row,
    secret: secret === null ? null : openSecret(sealer, { ...row, secret, secretKey }),
  }
}

/** The user of the login, whose row is locked then; null: there is neither. */
async function lockOwner(engine: Engine, tx: Db, id: LoginId): Promise<UserId | null> {
  const owner = await tx
    .selectFrom('logins')
    .select('user_id as userId')
    .where('id', '=', id)
    .executeTakeFirst()
  if (owner === undefined) return null
  return (await lockUser(engine, tx, owner.userId)) === null ? null : owner.userId
}
