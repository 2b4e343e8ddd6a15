/**
 * A fleet as rows, made in bulk without any provider: people with connections whose syncs are spread over the
 * interval, and webhook endpoints. Logins have no secret, since nothing is asked of a provider.
 */
import { randomBytes } from 'node:crypto'
import { Provider } from '#contract/resources.ts'
import { type ConnectionId, type EndpointId, newId, type UserId } from '#kernel/ids.ts'
import type { Engine } from '#store/engine/engine.ts'
import { sealSecrets, sealUrl } from '#store/events/endpoint-rows.ts'
import { makeSealer } from '#store/seal.ts'
import { mintSecret } from '#webhooks/sign.ts'
import { insertRows, type PlainRow, storeKey, toHex, toTime } from '../ground.ts'

export interface FleetSize {
  readonly connections: number
  readonly endpoints: number
}

export interface Person {
  readonly id: UserId
  readonly connections: readonly ConnectionId[]
  readonly endpoint: EndpointId | null
}

export interface FillOptions extends FleetSize {
  /** Milliseconds since the epoch. */
  readonly now: number
  /** When the sync of this connection is due, from its number. */
  readonly dueAt: (index: number) => number
  /** The URL of every endpoint; nothing listens at the default. */
  readonly url?: string
}

const connectionsOfPerson = 5
const providers = Provider.options

/** Adds people to what is there; one endpoint each, until there are as many as asked for. */
export async function fillFleet(engine: Engine, options: FillOptions): Promise<readonly Person[]> {
  const count = Math.ceil(options.connections / connectionsOfPerson)
  const people = Array.from({ length: count }, (_, index): Person => {
    const left = options.connections - index * connectionsOfPerson
    return {
      id: newId<UserId>(),
      connections: Array.from({ length: Math.min(left, connectionsOfPerson) }, () =>
        newId<ConnectionId>(),
      ),
      endpoint: index < options.endpoints ? newId<EndpointId>() : null,
    }
  })
  const now = toTime(options.now)
  await insertRows(
    engine,
    'users',
    people.map((person) => toUser(person, now)),
  )
  await insertRows(engine, 'logins', people.map(toLogin))
  const links = people.flatMap(({ id, connections }) =>
    connections.map((connectionId) => ({ id, connectionId })),
  )
  await insertRows(
    engine,
    'connections',
    links.map((link, index) => toConnection(link, index, now)),
  )
  await insertRows(
    engine,
    'syncs',
    links.map((link, index) => toSync(link, index, options)),
  )
  await insertRows(
    engine,
    'webhook_endpoints',
    people.flatMap((person) => toEndpoint(person, now, options.url)),
  )
  return people
}

function toUser({ id }: Person, now: string): PlainRow {
  const email = `${id}@example.test`
  return {
    id,
    email,
    email_lower: email,
    plan_status: 'active',
    grandfathered: false,
    epoch: 0,
    created_at: now,
  }
}

/** Of every provider's connections one login per person is enough here; its id is the person's. */
const toLogin = ({ id }: Person): PlainRow => ({
  id,
  user_id: id,
  provider: 'fiskil',
  upstream_user_id: id,
  version: 1,
})

interface Link {
  readonly id: UserId
  readonly connectionId: ConnectionId
}

const providerOf = (index: number): Provider => providers[index % providers.length] ?? 'fiskil'

const toConnection = ({ id, connectionId }: Link, index: number, now: string): PlainRow => ({
  id: connectionId,
  user_id: id,
  login_id: id,
  provider: providerOf(index),
  upstream_id: connectionId,
  institution_id: 'bank',
  institution_name: 'Bank',
  status: 'active',
  created_at: now,
})

const toSync = (
  { id, connectionId }: Link,
  index: number,
  { dueAt, now }: FillOptions,
): PlainRow => ({
  connection_id: connectionId,
  user_id: id,
  provider: providerOf(index),
  due_at: toTime(dueAt(index)),
  reason: 'schedule',
  failures: 0,
  rows_read_at: toTime(now - 86_400_000),
  ledger_from: toTime(now - 90 * 86_400_000),
})

const sealer = makeSealer([storeKey])

function toEndpoint({ id, endpoint }: Person, now: string, url?: string): readonly PlainRow[] {
  if (endpoint === null) return []
  const { secret, secret_key } = sealSecrets(sealer, endpoint, {
    current: mintSecret(),
    previous: null,
  })
  const { sealed_url } = sealUrl(sealer, endpoint, url ?? `http://127.0.0.1:9/${endpoint}`)
  return [
    {
      id: endpoint,
      user_id: id,
      sealed_url: toHex(sealed_url),
      events: 'transactions.synced,trades.synced',
      skip_empty: false,
      health: 'healthy',
      failures: 0,
      warned_days: 0,
      created_at: now,
      secret: toHex(secret),
      secret_key,
      last_position: 0,
    },
  ]
}

export interface PendingOptions {
  readonly now: number
  /** Deliveries of each endpoint. */
  readonly each: number
}

/**
 * Pending deliveries that are due, of lanes of their own; their events have no payload, since nothing is
 * sent.
 */
export async function fillDeliveries(
  engine: Engine,
  people: readonly Person[],
  { now, each }: PendingOptions,
): Promise<void> {
  const at = toTime(now - 1000)
  const owners = people.flatMap(({ id, endpoint }) => (endpoint === null ? [] : [{ id, endpoint }]))
  const rows = owners.flatMap(({ id, endpoint }) =>
    Array.from({ length: each }, (_, index) => ({
      userId: id,
      endpoint,
      eventId: newId(),
      id: newId(),
      position: index + 1,
    })),
  )
  const mac = toHex(randomBytes(32))
  await insertRows(
    engine,
    'events',
    rows.map(({ eventId, userId }) => ({
      id: eventId,
      user_id: userId,
      type: 'transactions.synced',
      chunk: 1,
      total_chunks: 1,
      is_empty: false,
      created_at: at,
      size: 1000,
      body_mac: mac,
      shredding: false,
    })),
  )
  await insertRows(
    engine,
    'deliveries',
    rows.map(({ id, eventId, userId, endpoint, position }) => ({
      id,
      event_id: eventId,
      endpoint_id: endpoint,
      user_id: userId,
      lane: id,
      position,
      status: 'pending',
      due_at: at,
      attempts: 0,
      is_replay: false,
      is_test: false,
      created_at: at,
    })),
  )
}
