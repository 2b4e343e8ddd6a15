/** The row of a connection: its columns, and the statement that creates or updates it. */
import { sql } from 'kysely'
import type { ConnectionStatus } from '#contract/resources.ts'
import { type ConnectionId, newId } from '#kernel/ids.ts'
import type { Millis } from '#kernel/time.ts'
import { isBrokenReference } from '../engine/broken-reference.ts'
import { knownStatus } from '../engine/known-words.ts'
import { type Db, moment, momentOrNull } from '../engine/tables.ts'
import { OwnerGoneError } from '../failure.ts'
import type { ConnectionRow, NewConnection } from '../ports/connections.ts'

export const connectionColumns = [
  'id',
  'user_id as userId',
  'login_id as loginId',
  'provider',
  'upstream_id as upstreamId',
  'institution_id as institutionId',
  'institution_name as institutionName',
  'institution_logo as institutionLogo',
  knownStatus().as('status'),
  'status_at as statusAt',
  'last_refreshed_at as lastRefreshedAt',
  'created_at as createdAt',
  'ends_at_provider as endsAtProvider',
  'consent_expires_at as consentExpiresAt',
  'label',
] as const

/** @throws OwnerGoneError */
export function upsert(tx: Db, connection: NewConnection): Promise<ConnectionRow> {
  return orGone(insertOrUpdate(tx, connection))
}

/** The status of the row that `upsert` would update; null: it would create one. */
export async function findFormer(
  tx: Db,
  { userId, provider, upstreamId }: NewConnection,
): Promise<ConnectionStatus | null> {
  const row = await tx
    .selectFrom('connections')
    .select('status')
    .where('user_id', '=', userId)
    .where('provider', '=', provider)
    .where('upstream_id', '=', upstreamId)
    // A literal, not a parameter, so that both engines use the partial index.
    .where(sql<boolean>`status <> 'deleting'`)
    .executeTakeFirst()
  return row === undefined || row.status === 'deleting' ? null : row.status
}

/** The login may have been deleted just now, with its last connection. */
async function orGone<Row>(work: Promise<Row>): Promise<Row> {
  try {
    return await work
  } catch (cause) {
    if (!isBrokenReference(cause)) throw cause
    throw new OwnerGoneError('the login of the connection is gone', { cause })
  }
}

/** One statement, so that linking the same institution twice concurrently makes one connection. */
function insertOrUpdate(tx: Db, connection: NewConnection) {
  return tx
    .insertInto('connections')
    .values({ ...toValues(connection), status: connection.status })
    .onConflict((conflict) =>
      conflict
        .columns(['user_id', 'provider', 'upstream_id'])
        // A literal, not a parameter, so that PostgreSQL matches the partial index.
        .where(sql<boolean>`status <> 'deleting'`)
        .doUpdateSet((set) => ({
          login_id: set.ref('excluded.login_id'),
          institution_id: set.ref('excluded.institution_id'),
          institution_name: set.ref('excluded.institution_name'),
          institution_logo: set.ref('excluded.institution_logo'),
          status: set.ref('excluded.status'),
          status_at: set.ref('excluded.status_at'),
          consent_expires_at: set.ref('excluded.consent_expires_at'),
        })),
    )
    .returning(connectionColumns)
    .executeTakeFirstOrThrow()
}

/** Stores the consent of this row a second time, as a connection of its own that is being deleted. */
export async function insertLeaving(tx: Db, row: ConnectionRow, at: Millis): Promise<void> {
  const values = { ...toValues({ ...row, createdAt: at }), status: 'deleting' } as const
  await tx.insertInto('connections').values(values).execute()
}

const toValues = (connection: Omit<NewConnection, 'status'>) => ({
  id: newId<ConnectionId>(),
  user_id: connection.userId,
  login_id: connection.loginId,
  provider: connection.provider,
  upstream_id: connection.upstreamId,
  institution_id: connection.institutionId,
  institution_name: connection.institutionName,
  institution_logo: connection.institutionLogo,
  last_refreshed_at: momentOrNull(connection.lastRefreshedAt),
  created_at: moment(connection.createdAt),
  status_at: moment(connection.createdAt),
  consent_expires_at: momentOrNull(connection.consentExpiresAt),
})
