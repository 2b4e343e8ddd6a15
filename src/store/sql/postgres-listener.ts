/**
 * The line on which processes tell each other whose rows changed: LISTEN on a connection of its own, which comes back
 * by itself. After a gap nobody knows what was missed, so everybody is told to forget everything.
 */
import { Client } from 'pg'
import type { UserId } from '#kernel/ids.ts'
import type { StoreChange } from '../port.ts'
import type { StoreLog } from './engine.ts'
import { toStoreError } from './postgres-failure.ts'
import { connectionSettings } from './postgres-pool.ts'

const firstRetryMs = 100
const maxRetryMs = 5_000
// A line that died without a word is noticed by asking.
const heartbeatMs = 15_000

export interface ListenerOptions {
  readonly databaseUrl: string
  readonly channel: string
  /** Marks the messages of this process, which it told its own listeners already. */
  readonly instance: string
  readonly hear: (change: StoreChange) => void
  readonly log: StoreLog
}

/** The text of one message: who says it, whose rows changed. */
export function toMessage(instance: string, userId: UserId): string {
  return `${instance} ${userId}`
}

/**
 * Starts to listen; resolves once the line stands. Returns its end.
 * @throws StoreUnavailableError when it cannot be established at first.
 */
export async function startListener(options: ListenerOptions): Promise<() => Promise<void>> {
  let client: Client | undefined
  let retry: NodeJS.Timeout | undefined
  let waitMs = firstRetryMs
  let closed = false

  function lost(which: Client): void {
    if (closed || which !== client || retry !== undefined) return
    options.log({ level: 'warn', message: 'the line for store changes is down' })
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
      options.log({ level: 'info', message: 'the line for store changes is back' })
      options.hear({ userId: null })
    } catch {
      // The loss was logged; the next attempt follows until it is back or closed.
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
  // Both come when a connection breaks, in either order; `lost` counts the first.
  client.on('error', () => lost(client))
  client.on('end', () => lost(client))
  client.on('notification', ({ payload }) => receive(payload ?? '', options))
  try {
    await client.connect()
    await client.query(`listen ${client.escapeIdentifier(options.channel)}`)
  } catch (error) {
    drop(client)
    throw toStoreError(error)
  }
  return client
}

function receive(payload: string, { instance, hear }: ListenerOptions): void {
  const [sender, userId] = payload.split(' ')
  if (sender === instance || userId === undefined) return
  // Only stores write to this channel, with ids of their own rows.
  hear({ userId: userId as UserId })
}

/** Ends a connection that nobody waits for any more; that it fails to end politely changes nothing. */
function drop(client: Client): void {
  client.end().catch(() => {})
}
