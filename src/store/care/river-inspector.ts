/**
 * The event river as operators see it: endpoints in trouble, leases that are held too long, ledgers that do
 * not match endpoints and consumers, webhooks of providers, the place of the event keys. It runs only on an
 * operator's request.
 */
import { Provider } from '#contract/resources.ts'
import { type EventId, newId } from '#kernel/ids.ts'
import type { Engine } from '../engine/engine.ts'
import { type Db, isAfter, isBefore } from '../engine/tables.ts'
import { endpointColumns, openEndpoint, secretColumns } from '../events/endpoint-rows.ts'
import type {
  DamagedEndpoint,
  KeyPlace,
  StoreInspector,
  StuckBounds,
  StuckLease,
  TroubledEndpoint,
} from '../ports/inspector.ts'
import type { Sealer } from '../seal.ts'

type RiverInspector = Pick<
  StoreInspector,
  | 'listTroubledEndpoints'
  | 'listDamagedEndpoints'
  | 'listStuckLeases'
  | 'countLedgerMismatches'
  | 'findProviderRuns'
  | 'examineKeys'
>

/** Bounds the search for a run that a webhook asked for. */
const newestRuns = 20_000

export function inspectRiver(engine: Engine, sealer: Sealer): RiverInspector {
  const { db } = engine
  return {
    listTroubledEndpoints: (limit) => listTroubledEndpoints(db, limit),
    listDamagedEndpoints: (limit) => listDamagedEndpoints(db, sealer, limit),
    listStuckLeases: async (bounds) => [
      ...(await listStuckSyncs(db, bounds)),
      ...(await listStuckEndpoints(db, bounds)),
    ],
    countLedgerMismatches: async () => ({
      withoutLedger: await countWithoutLedger(db),
      unusedLedgers: await countUnusedLedgers(db),
    }),
    findProviderRuns: () => findProviderRuns(db),
    examineKeys: () => examineKeys(engine),
  }
}

function listTroubledEndpoints(db: Db, limit: number): Promise<readonly TroubledEndpoint[]> {
  return db
    .selectFrom('webhook_endpoints')
    .innerJoin('users', 'users.id', 'webhook_endpoints.user_id')
    .select([
      'webhook_endpoints.id as id',
      'users.email as email',
      'webhook_endpoints.failing_since as failingSince',
    ])
    .select((row) => [
      row.ref('health').$castTo<TroubledEndpoint['health']>().as('health'),
      row.ref('disabled_reason').$castTo<TroubledEndpoint['disabledReason']>().as('disabledReason'),
    ])
    .where((row) =>
      row.or([
        row('health', '=', 'paused'),
        row.and([row('health', '=', 'disabled'), row('disabled_reason', '<>', 'owner')]),
      ]),
    )
    .orderBy('webhook_endpoints.created_at')
    .orderBy('webhook_endpoints.id')
    .limit(limit)
    .execute()
}

async function listDamagedEndpoints(
  db: Db,
  sealer: Sealer,
  limit: number,
): Promise<readonly DamagedEndpoint[]> {
  const rows = await db
    .selectFrom('webhook_endpoints')
    // Under other names, since both tables have some of the same columns.
    .innerJoin(
      (query) => query.selectFrom('users').select(['id as owner', 'email']).as('owners'),
      (join) => join.onRef('owners.owner', '=', 'webhook_endpoints.user_id'),
    )
    .select([...endpointColumns, ...secretColumns])
    .select('email')
    .where('health', '<>', 'disabled')
    .orderBy('id')
    .limit(limit)
    .execute()
  return rows.flatMap((row) => {
    const { url, secrets } = openEndpoint(sealer, row)
    const { id, email } = row
    return secrets === null ? [{ id, email, part: url === '' ? 'url' : 'secret' }] : []
  })
}

async function listStuckSyncs(db: Db, bounds: StuckBounds): Promise<readonly StuckLease[]> {
  const rows = await db
    .selectFrom('syncs')
    .innerJoin('sync_runs', 'sync_runs.id', 'syncs.run_id')
    .select([
      'syncs.connection_id as id',
      'sync_runs.started_at as startedAt',
      'syncs.due_at as leaseUntil',
    ])
    // An expired lease is due again, and belongs to the backlog.
    .where(isAfter('syncs.due_at', bounds.now))
    .where((row) =>
      row.or([
        isBefore('sync_runs.started_at', bounds.startedBefore),
        isAfter('syncs.due_at', bounds.heldBeyond),
      ]),
    )
    .orderBy('syncs.connection_id')
    .limit(bounds.limit)
    .execute()
  return rows.map((row) => ({ kind: 'sync', ...row }))
}

async function listStuckEndpoints(db: Db, bounds: StuckBounds): Promise<readonly StuckLease[]> {
  const rows = await db
    .selectFrom('webhook_endpoints')
    .select('id')
    // Not null: it is after `heldBeyond`.
    .select((row) => row.ref('next_due_at').$notNull().as('leaseUntil'))
    .where('lease', 'is not', null)
    .where(isAfter('next_due_at', bounds.heldBeyond))
    .orderBy('id')
    .limit(bounds.limit)
    .execute()
  return rows.map((row) => ({ kind: 'endpoint', ...row }))
}

/** Those with an endpoint or a consumer, each once. */
const receivingUsers = (db: Db) =>
  db
    .selectFrom('webhook_endpoints')
    .select('user_id')
    .union(db.selectFrom('event_consumers').select('user_id'))

async function countWithoutLedger(db: Db): Promise<number> {
  const row = await db
    .selectFrom(receivingUsers(db).as('receiving'))
    .select(({ fn }) => fn.countAll().as('count'))
    .where('user_id', 'not in', (query) => query.selectFrom('ledger_keys').select('user_id'))
    .executeTakeFirstOrThrow()
  return Number(row.count)
}

async function countUnusedLedgers(db: Db): Promise<number> {
  const row = await db
    .selectFrom('ledger_keys')
    .select(({ fn }) => fn.countAll().as('count'))
    .where('user_id', 'not in', receivingUsers(db))
    .executeTakeFirstOrThrow()
  return Number(row.count)
}

async function findProviderRuns(db: Db): Promise<Partial<Record<Provider, number>>> {
  const found: Partial<Record<Provider, number>> = {}
  for (const provider of Provider.options) {
    const row = await db
      .selectFrom((query) =>
        query
          .selectFrom('sync_runs')
          .select(['connection_id', 'reason', 'started_at'])
          .where('state', '<>', 'running')
          .orderBy('started_at', 'desc')
          .limit(newestRuns)
          .as('newest'),
      )
      .innerJoin('syncs', 'syncs.connection_id', 'newest.connection_id')
      .select('newest.started_at as startedAt')
      .where('newest.reason', '=', 'provider')
      .where('syncs.provider', '=', provider)
      .orderBy('newest.started_at', 'desc')
      .limit(1)
      .executeTakeFirst()
    if (row !== undefined) found[provider] = row.startedAt
  }
  return found
}

/** An update that matches no row still needs the privilege to write and a writable file or schema. */
async function examineKeys(engine: Engine): Promise<KeyPlace> {
  const keys = engine.keysOf(engine.db)
  await keys
    .updateTable('event_keys')
    .set((row) => ({ secret_key: row.ref('secret_key') }))
    .where('event_id', '=', newId<EventId>())
    .execute()
  return engine.describeKeys()
}
