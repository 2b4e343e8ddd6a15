/**
 * Receives notifications of changed users, due work and new events from other processes: LISTEN on a
 * separate connection that reconnects by itself. Notifications may be missed while it is down, so after a
 * reconnect all cached rows must be dropped and all kinds of work and new events looked for.
 */
import { Client } from 'pg'
import type { UserId } from '#kernel/ids.ts'
import type { StoreLog } from '../log.ts'
import type { WorkKind } from '../ports/changes.ts'
import type { CommittedChanges, Listeners } from './engine.ts'
import { toConnectError, toTarget } from './postgres-failure.ts'
import { connectionSettings, limitSession } from './postgres-pool.ts'

const firstRetryMs = 100
const maxRetryMs = 5_000
// How often a query checks the connection, since a TCP connection can break without notice.
const heartbeatMs = 15_000

export interface ListenerOptions {
  readonly databaseUrl: string
  readonly channel: string
  /** Marks the messages of this process, whose own listeners were notified already. */
  readonly instance: string
  readonly listeners: Listeners
  readonly log: StoreLog
}

const workKinds: readonly WorkKind[] = ['sync', 'connection-event', 'delivery', 'mail']

/** Before the id of a user whose feed has new events. */
const feedMark = 'feed:'

/**
 * The texts of the messages: the sending process, and the changed user, the kind of work, or the user with
 * new events. A process of an older version reads the others as the id of a user, which matches none.
 */
export function toChangeTexts(
  instance: string,
  { users, work, fed }: CommittedChanges,
): readonly string[] {
  const feeds = [...fed].map((userId) => `${feedMark}${userId}`)
  return [...users, ...work, ...feeds].map((about) => `${instance} ${about}`)
}

/**
 * Starts to listen; resolves once connected. Returns a function that stops.
 * @throws StoreUnavailableError when the first connection fails.
 */
export async function startListener(options: ListenerOptions): Promise<() => Promise<void>> {
  let client: Client | undefined
  let retry: NodeJS.Timeout | undefined
  let waitMs = firstRetryMs
  let closed = false

  function lost(which: Client): void {
    if (closed || which !== client || retry !== undefined) return
    options.log({
      level: 'warn',
      message: 'the connection for store change notifications was lost',
    })
    drop(which)
    schedule()
  }

  function schedule(): void {
    retry = setTimeout(() => void reconnect(), waitMs)
    waitMs = Math.min(waitMs * 2, maxRetryMs)
  }

  async function reconnect(): Promise<void> {
    try {
      const next = await connect(options, lost)
      if (closed) return drop(next)
      client = next
      retry = undefined
      waitMs = firstRetryMs
      options.log({
        level: 'info',
        message: 'the connection for store change notifications is restored',
      })
      options.listeners.change({ userId: null })
      options.listeners.arrival({ userId: null })
      for (const kind of workKinds) options.listeners.work(kind)
    } catch {
      // The loss was logged already; retries continue until it is connected or closed.
      if (!closed) schedule()
    }
  }

  client = await connect(options, lost)
  const heartbeat = setInterval(() => {
    const asked = client
    asked?.query('select 1').catch(() => lost(asked))
  }, heartbeatMs)
  heartbeat.unref()

  return async () => {
    closed = true
    clearInterval(heartbeat)
    clearTimeout(retry)
    if (retry === undefined) await client?.end()
  }
}

async function connect(options: ListenerOptions, lost: (client: Client) => void): Promise<Client> {
  const client = new Client(connectionSettings(options.databaseUrl))
  // Both events occur when a connection breaks, in either order; `lost` handles the first only.
  client.on('error', () => lost(client))
  client.on('end', () => lost(client))
  client.on('notification', ({ payload }) => receive(payload ?? '', options))
  try {
    await client.connect()
    await limitSession(client)
    await client.query(`listen ${client.escapeIdentifier(options.channel)}`)
  } catch (error) {
    drop(client)
    throw toConnectError(error, toTarget(options.databaseUrl))
  }
  return client
}

function receive(payload: string, { instance, listeners }: ListenerOptions): void {
  const [sender, about] = payload.split(' ')
  if (sender === instance || about === undefined) return
  const kind = workKinds.find((known) => known === about)
  // Only stores write to this channel; whatever is no kind of work is the id of one of their users.
  if (kind !== undefined) listeners.work(kind)
  else if (about.startsWith(feedMark))
    listeners.arrival({ userId: about.slice(feedMark.length) as UserId })
  else listeners.change({ userId: about as UserId })
}

/** Closes a connection that is no longer used; an error while closing has no effect. */
function drop(client: Client): void {
  client.end().catch(() => {})
}
