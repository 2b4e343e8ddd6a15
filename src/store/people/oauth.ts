/**
 * Grants to agents and what depends on them: codes, tokens, clients, requests for consent. Redeeming is one
 * conditional statement; revoking is one deletion that cascades through the foreign keys. It stores hashes of
 * tokens, never tokens, and knows nothing of the protocol.
 */
import { sql } from 'kysely'
import type { SessionId } from '#kernel/ids.ts'
import { isBrokenReference } from '../engine/broken-reference.ts'
import type { Engine, SealingOptions } from '../engine/engine.ts'
import { hasChanged } from '../engine/rows.ts'
import { type Db, isAfter, isBefore, isUnsetOrBefore, moment } from '../engine/tables.ts'
import {
  agentsListed,
  type NewOAuthGrant,
  type NewOAuthRow,
  type OAuthAgentRow,
  type OAuthModel,
  type OAuthStore,
} from '../ports/oauth.ts'
import { openOrNull, type Sealer } from '../seal.ts'
import { admitPending, trimClients, trimUnusedClients } from './oauth-bounds.ts'
import { openOAuthPayload, sealOAuthPayload } from './oauth-payload.ts'
import { lockUser } from './users.ts'

const times = ['created_at as createdAt', 'expires_at as expiresAt'] as const
const sealed = ['payload', 'payload_key as payloadKey'] as const

/** The repository of the authorization server. */
export function makeOAuthStore(options: SealingOptions): OAuthStore {
  const { write } = options
  return {
    ...makeRows(options),
    ...makeGrants(options),
    sweep: (at, limit) => write((tx) => sweep(tx, at, limit)),
  }
}

type Rows = 'save' | 'savePending' | 'saveWhile' | 'find' | 'consume' | 'delete'
type Clients = 'touchClient' | 'trimClients' | 'trimUnusedClients'

function makeRows({ engine, write, sealer }: SealingOptions): Pick<OAuthStore, Rows | Clients> {
  const { db } = engine
  return {
    save: (row) => unlessBroken(() => saveRow(db, sealer, row)),
    savePending: (row, bounds) => write((tx) => savePending({ engine, sealer, tx }, row, bounds)),
    saveWhile: (sessionId, row) =>
      unlessBroken(() =>
        write(async (tx) => {
          if (!(await holdSession(engine, tx, sessionId))) return false
          return saveRow(tx, sealer, row)
        }),
      ),
    async find(model, id) {
      const row = await engine.findRow(engine.queries.compile(selectRow, db, { id, model }))
      if (row === undefined) return null
      const { payloadKey, ...rest } = row
      return { ...rest, payload: openOAuthPayload(sealer, 'oauth_rows', id, row) }
    },
    async consume(model, id, at) {
      return hasChanged(
        db
          .updateTable('oauth_rows')
          .set({ used_at: moment(at) })
          .where('id', '=', id)
          .where('model', '=', model)
          .where('used_at', 'is', null),
      )
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
    trimUnusedClients: (keep) => trimUnusedClients(db, keep),
  }
}

type Grants =
  | 'saveGrant'
  | 'findGrant'
  | 'findParties'
  | 'deleteGrant'
  | 'touchGrant'
  | 'hasGrant'
  | 'listAgentGrants'
  | 'listAgents'

function makeGrants({ engine, write, sealer }: SealingOptions): Pick<OAuthStore, Grants> {
  const { db } = engine
  return {
    saveGrant: (grant) =>
      write(async (tx) => {
        if ((await lockUser(engine, tx, grant.userId)) !== 'living') return false
        await saveGrant(tx, sealer, grant)
        return true
      }),
    async findGrant(id) {
      const row = await db
        .selectFrom('oauth_grants')
        .select(['user_id as userId', ...sealed, ...times])
        .where('id', '=', id)
        .executeTakeFirst()
      if (row === undefined) return null
      const { payloadKey, ...rest } = row
      const payload = openOAuthPayload(sealer, 'oauth_grants', id, row)
      return { ...rest, payload, usedAt: null }
    },
    async findParties(id) {
      const parties = await db
        .selectFrom('oauth_grants')
        .select(['user_id as userId', 'client_id as clientId'])
        .where('id', '=', id)
        .executeTakeFirst()
      return parties ?? null
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
    async touchGrant(id, at) {
      await db
        .updateTable('oauth_grants')
        .set({ last_used_at: moment(at) })
        .where('id', '=', id)
        .where(isUnsetOrBefore('last_used_at', at))
        .execute()
    },
    async hasGrant(userId, clientId) {
      const row = await db
        .selectFrom('oauth_grants')
        .select('id')
        .where('user_id', '=', userId)
        .where('client_id', '=', clientId)
        .limit(1)
        .executeTakeFirst()
      return row !== undefined
    },
    listAgentGrants: (userId, clientId) =>
      write(async (tx) => {
        await lockUser(engine, tx, userId)
        return listAgentGrants(tx, userId, clientId)
      }),
    listAgents: (userId, at) => listAgents(db, sealer, userId, at),
  }
}

/** The result of `work`, or false when a referenced row was deleted meanwhile; other errors pass through. */
async function unlessBroken(work: () => Promise<boolean>): Promise<boolean> {
  try {
    return await work()
  } catch (error) {
    if (isBrokenReference(error)) return false
    throw error
  }
}

/** Every call of an agent runs this look-up: one read by primary key. */
const selectRow = (
  db: Db,
  { id, model }: { readonly id: Uint8Array; readonly model: OAuthModel },
) =>
  db
    .selectFrom('oauth_rows')
    .select([...sealed, ...times, 'used_at as usedAt'])
    .where('id', '=', id)
    .where('model', '=', model)

/** True when the session exists; it is locked until the transaction ends. */
async function holdSession({ kind }: Engine, tx: Db, id: SessionId): Promise<boolean> {
  const query = tx.selectFrom('sessions').select('id').where('id', '=', id)
  // SQLite needs no lock: it has a single writer.
  const row = await (kind === 'postgres' ? query.forShare() : query).executeTakeFirst()
  return row !== undefined
}

/** What is saved again keeps its beginning and its use. */
const renewed = {
  expires_at: sql<Date>`excluded.expires_at`,
  payload: sql<Uint8Array>`excluded.payload`,
  payload_key: sql<string>`excluded.payload_key`,
}

async function saveRow(db: Db, sealer: Sealer, row: NewOAuthRow): Promise<true> {
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
      ...sealOAuthPayload(sealer, 'oauth_rows', row.id, row.payload),
    })
    .onConflict((conflict) => conflict.column('id').doUpdateSet(renewed))
    .execute()
  return true
}

interface PendingOptions {
  readonly engine: Engine
  readonly sealer: Sealer
  readonly tx: Db
}

/** No lock is held while requests are counted: anybody may send them, and others need the connections. */
async function savePending(
  { engine, sealer, tx }: PendingOptions,
  row: NewOAuthRow,
  bounds: Parameters<OAuthStore['savePending']>[1],
): Promise<'kept' | 'origin_full' | 'full'> {
  const known = await tx
    .selectFrom('oauth_rows')
    .select('id')
    .where('id', '=', row.id)
    .executeTakeFirst()
  if (known === undefined) {
    const outcome = await admitPending({ engine, tx }, row, bounds)
    if (outcome !== 'kept') return outcome
  }
  await saveRow(tx, sealer, row)
  return 'kept'
}

async function saveGrant(db: Db, sealer: Sealer, grant: NewOAuthGrant): Promise<true> {
  await db
    .insertInto('oauth_grants')
    .values({
      id: grant.id,
      user_id: grant.userId,
      client_id: grant.clientId,
      created_at: moment(grant.createdAt),
      expires_at: moment(grant.expiresAt),
      last_used_at: null,
      ...sealOAuthPayload(sealer, 'oauth_grants', grant.id, grant.payload),
    })
    .onConflict((conflict) => conflict.column('id').doUpdateSet(renewed))
    .execute()
  return true
}

async function listAgentGrants(
  tx: Db,
  userId: NewOAuthGrant['userId'],
  clientId: string,
): Promise<readonly Uint8Array[]> {
  const rows = await tx
    .selectFrom('oauth_grants')
    .select('id')
    .where('user_id', '=', userId)
    .where('client_id', '=', clientId)
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('oauth_rows as agent')
          .select('agent.id')
          .whereRef('agent.grant_id', '=', 'oauth_grants.id')
          .where('agent.model', '=', 'Agent'),
      ),
    )
    .orderBy('created_at', 'desc')
    .orderBy('id')
    .execute()
  return rows.map((row) => row.id)
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
      'oauth_grants.last_used_at as lastUsedAt',
      'agent.id',
      'agent.payload',
      'agent.payload_key as payloadKey',
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
    .limit(agentsListed)
    .execute()
  return rows.map(({ id, payload, payloadKey, ...row }) => ({
    ...row,
    payload: openOrNull(() => openOAuthPayload(sealer, 'oauth_rows', id, { payload, payloadKey })),
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
