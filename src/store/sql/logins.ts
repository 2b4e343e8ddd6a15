/**
 * Logins at the providers and their secrets. A secret goes in sealed and comes out opened; the bytes in the table are
 * bound to their row, so that one copied to another user's row does not open.
 */
import type { Provider } from '#contract/resources.ts'
import { type LoginId, newId, type UserId } from '#kernel/ids.ts'
import type { LoginRow, LoginStore } from '../port.ts'
import type { Sealer } from '../seal.ts'
import type { Write } from './engine.ts'
import type { Db } from './tables.ts'
import { bumpEpoch } from './users.ts'

const columns = [
  'id',
  'user_id as userId',
  'provider',
  'upstream_user_id as upstreamUserId',
  'secret',
] as const

const purpose = 'login-secret'

/** What names a login; the same for its whole life, so it can bind the ciphertext before there is a row. */
interface LoginName {
  readonly userId: UserId
  readonly provider: Provider
  readonly upstreamUserId: string
}

/** The login repository over `db`. */
export function makeLoginStore({
  db,
  write,
  sealer,
}: {
  db: Db
  write: Write
  sealer: Sealer
}): LoginStore {
  return {
    save: (login) =>
      write(async (tx, touched) => {
        touched(login.userId)
        const row = await tx
          .insertInto('logins')
          .values({
            id: newId<LoginId>(),
            user_id: login.userId,
            provider: login.provider,
            upstream_user_id: login.upstreamUserId,
            ...sealedColumns(sealer, login, login.secret),
          })
          .onConflict((conflict) =>
            conflict.columns(['user_id', 'provider', 'upstream_user_id']).doUpdateSet((set) => ({
              secret: set.ref('excluded.secret'),
              secret_key: set.ref('excluded.secret_key'),
            })),
          )
          .returning(columns)
          .executeTakeFirstOrThrow()
        return opened(sealer, row)
      }),
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
    delete: (id) =>
      write(async (tx, touched) => {
        const row = await tx
          .deleteFrom('logins')
          .where('id', '=', id)
          .returning('user_id as userId')
          .executeTakeFirst()
        if (row === undefined) return
        // Connections that still stood on it are gone with it.
        await bumpEpoch(tx, row.userId)
        touched(row.userId)
      }),
  }
}

/** The columns of a secret under the current key. */
export function sealedColumns(sealer: Sealer, name: LoginName, secret: string | null) {
  if (secret === null) return { secret: null, secret_key: null }
  return {
    secret: sealer.seal(purpose, identity(name), Buffer.from(secret, 'utf8')),
    secret_key: sealer.current,
  }
}

/** The secret in the clear. @throws SealError when it does not open. */
export function openSecret(sealer: Sealer, name: LoginName, sealed: Uint8Array): string {
  return Buffer.from(sealer.open(purpose, identity(name), sealed)).toString('utf8')
}

function identity({ userId, provider, upstreamUserId }: LoginName): string {
  return JSON.stringify(['logins', userId, provider, upstreamUserId])
}

function opened(
  sealer: Sealer,
  row: LoginName & { readonly id: LoginId; readonly secret: Uint8Array | null },
): LoginRow {
  const { id, userId, provider, upstreamUserId } = row
  const secret = row.secret === null ? null : openSecret(sealer, row, row.secret)
  return { id, userId, provider, upstreamUserId, secret }
}
