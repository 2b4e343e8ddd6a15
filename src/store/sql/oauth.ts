/**
 * Grants to agents and what lives by them: codes, tokens, clients, requests for consent. Redeeming is one conditional
 * statement, revoking one deletion that the foreign keys carry on. It knows hashes of tokens, never tokens, and nothing
 * of the protocol.
 */
import type {
  NewOAuthGrant,
  NewOAuthRow,
  OAuthAgentRow,
  OAuthModel,
  OAuthStore,
} from '../oauth-port.ts'
import type { Sealer } from '../seal.ts'
import { isBrokenReference } from './broken-reference.ts'
import type { Engine, Write } from './engine.ts'
import { openPayload, sealPayload } from './oauth-payload.ts'
import { type Db, isAfter, isBefore, moment } from './tables.ts'

const maxAgents = 200

const times = ['created_at as createdAt', 'expires_at as expiresAt'] as const

interface Parts {
  readonly engine: Engine
  readonly write: Write
  readonly sealer: Sealer
}

/** The repository of the authorization server. */
export function makeOAuthStore({ engine, write, sealer }: Parts): OAuthStore {
  const { db } = engine
  const findRow = prepareRow(engine)
  return {
    save: (row) => unlessBroken(() => saveRow(db, sealer, row)),
    async find(model, id) {
      const row = await findRow([id, model])
      if (row === undefined) return null
      const { payload, ...rest } = row
      return { ...rest, payload: openPayload(sealer, 'oauth_rows', id, payload) }
    },
    async consume(model, id, at) {
      const { numUpdatedRows } = await db
        .updateTable('oauth_rows')
        .set({ used_at: moment(at) })
        .where('id', '=', id)
        .where('model', '=', model)
        .where('used_at', 'is', null)
        .executeTakeFirstOrThrow()
      return numUpdatedRows === 1n
    },
    async delete(model, id) {
      await db.deleteFrom('oauth_rows').where('id', '=', id).where('model', '=', model).execute()
    },
    async touchClient(id, at, expiresAt) {
      await db
        .updateTable('oauth_rows')
        .set({ used_at: moment(at), expires_at: moment(expiresAt) })
        .where('id', '=', id)
        .where('model', '=', 'Client')
        .where(isBefore('expires_at', expiresAt))
        .execute()
    },
    trimClients: (origin, keep) => trimClients(db, origin, keep),
    saveGrant: (grant) => unlessBroken(() => saveGrant(db, sealer, grant)),
    async findGrant(id) {
      const row = await db
        .selectFrom('oauth_grants')
        .select(['user_id as userId', 'payload', ...times])
        .where('id', '=', id)
        .executeTakeFirst()
      if (row === undefined) return null
      const payload = openPayload(sealer, 'oauth_grants', id, row.payload)
      return { ...row, payload, usedAt: null }
    },
    deleteGrant: (id) =>
      write(async (tx, touched) => {
        const row = await tx
          .deleteFrom('oauth_grants')
          .where('id', '=', id)
          .returning('user_id as userId')
          .executeTakeFirst()
        if (row === undefined) return false
        touched(row.userId)
        return true
      }),
    async listGrants(userId, clientId) {
      const rows = await db
        .selectFrom('oauth_grants')
        .select('id')
        .where('user_id', '=', userId)
        .where('client_id', '=', clientId)
        .orderBy('created_at', 'desc')
        .orderBy('id')
        .execute()
      return rows.map((row) => row.id)
    },
    listAgents: (userId, at) => listAgents(db, sealer, userId, at),
    sweep: (at, limit) => write((tx) => sweep(tx, at, limit)),
  }
}

/** False when the row that `work` refers to was deleted meanwhile; every other failure stays one. */
async function unlessBroken(work: () => Promise<void>): Promise<boolean> {
  try {
    await work()
    return true
  } catch (error) {
    if (isBrokenReference(error)) return false
    throw error
  }
}

/** The look-up of every call of an agent: one read by primary key. */
function prepareRow(engine: Engine) {
  const query = engine.db
    .selectFrom('oauth_rows')
    .select(['payload', ...times, 'used_at as usedAt'])
    .where('id', '=', new Uint8Array())
    .where('model', '=', 'AccessToken')
  return engine.prepare<{
    readonly payload: Uint8Array
    readonly createdAt: number
    readonly expiresAt: number
    readonly usedAt: number | null
  }>('find_oauth_row', query.compile())
}

async function saveRow(db: Db, sealer: Sealer, row: NewOAuthRow): Promise<void> {
  await db
    .insertInto('oauth_rows')
    .values({
      id: row.id,
      model: row.model,
      grant_id: row.grantId,
      origin: row.origin,
      created_at: moment(row.createdAt),
      expires_at: moment(row.expiresAt),
      used_at: null,
      ...sealPayload(sealer, 'oauth_rows', row.id, row.payload),
    })
    .onConflict((conflict) =>
      conflict.column('id').doUpdateSet((set) => ({
        expires_at: set.ref('excluded.expires_at'),
        payload: set.ref('excluded.payload'),
        payload_key: set.ref('excluded.payload_key'),
      })),
    )
    .execute()
}

async function saveGrant(db: Db, sealer: Sealer, grant: NewOAuthGrant): Promise<void> {
  await db
    .insertInto('oauth_grants')
    .values({
      id: grant.id,
      user_id: grant.userId,
      client_id: grant.clientId,
      created_at: moment(grant.createdAt),
      expires_at: moment(grant.expiresAt),
      ...sealPayload(sealer, 'oauth_grants', grant.id, grant.payload),
    })
    .onConflict((conflict) =>
      conflict.column('id').doUpdateSet((set) => ({
        expires_at: set.ref('excluded.expires_at'),
        payload: set.ref('excluded.payload'),
        payload_key: set.ref('excluded.payload_key'),
      })),
    )
    .execute()
}

async function trimClients(db: Db, origin: Uint8Array, keep: number): Promise<void> {
  const ofOrigin = db
    .selectFrom('oauth_rows')
    .select('id')
    .where('origin', '=', origin)
    .where('model', '=', 'Client')
    .where('used_at', 'is', null)
  const newest = ofOrigin.orderBy('created_at', 'desc').orderBy('id').limit(keep)
  await db
    .deleteFrom('oauth_rows')
    .where('id', 'in', ofOrigin)
    .where('id', 'not in', newest)
    .execute()
}

const credentials: readonly OAuthModel[] = ['AuthorizationCode', 'AccessToken', 'RefreshToken']

async function listAgents(
  db: Db,
  sealer: Sealer,
  userId: NewOAuthGrant['userId'],
  at: number,
): Promise<readonly OAuthAgentRow[]> {
  const rows = await db
    .selectFrom('oauth_grants')
    .innerJoin('oauth_rows as agent', 'agent.grant_id', 'oauth_grants.id')
    .select([
      'oauth_grants.id as grantId',
      'oauth_grants.client_id as clientId',
      'oauth_grants.created_at as createdAt',
      'agent.id',
      'agent.payload',
    ])
    .where('oauth_grants.user_id', '=', userId)
    .where(isAfter('oauth_grants.expires_at', at))
    .where('agent.model', '=', 'Agent')
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('oauth_rows as credential')
          .select('credential.id')
          .whereRef('credential.grant_id', '=', 'oauth_grants.id')
          .where('credential.model', 'in', credentials)
          .where('credential.used_at', 'is', null)
          .where(isAfter('credential.expires_at', at)),
      ),
    )
    .orderBy('oauth_grants.created_at', 'desc')
    .orderBy('oauth_grants.id')
    .limit(maxAgents)
    .execute()
  return rows.map(({ id, payload, ...row }) => ({
    ...row,
    payload: openPayload(sealer, 'oauth_rows', id, payload),
  }))
}

async function sweep(tx: Db, at: number, limit: number): Promise<number> {
  let count = 0n
  for (const table of ['oauth_grants', 'oauth_rows'] as const) {
    const expired = tx
      .selectFrom(table)
      .select('id')
      .where(isBefore('expires_at', at))
      .orderBy('expires_at')
      .limit(limit)
    const { numDeletedRows } = await tx
      .deleteFrom(table)
      .where('id', 'in', expired)
      .executeTakeFirstOrThrow()
    count += numDeletedRows
  }
  return Number(count)
}
