/**
 * What the store says at the end: which events it accepted for an endpoint, and what killed processes must
 * not leave behind.
 */
import type { Ground } from './ground.ts'
import type { Accepted } from './judge.ts'

/** In the order in which they were to be sent. */
export async function listAccepted(
  ground: Ground,
  endpointId: string,
): Promise<readonly Accepted[]> {
  const rows = await ground.ask(
    `select e.id, e.connection_id, e.run_id, e.chunk, e.total_chunks from deliveries d
      join events e on e.id = d.event_id
      where d.endpoint_id = '${endpointId}' order by d.position`,
  )
  return rows.map((row) => ({
    eventId: String(row.id),
    connectionId: String(row.connection_id),
    runId: String(row.run_id),
    chunk: Number(row.chunk),
    totalChunks: Number(row.total_chunks),
  }))
}

/** Everything that is left over although nothing is under way, in words. */
export async function findLeftovers(ground: Ground): Promise<readonly string[]> {
  const counts = await Promise.all(
    forbidden.map(async ([what, where]) => {
      const count = (await ground.ask(`select 1 from ${where}`)).length
      return count === 0 ? [] : [`${count} ${what}`]
    }),
  )
  const keys = await ground.countKeys()
  return [...counts.flat(), ...(keys === 0 ? [] : [`${keys} keys of events that are gone`])]
}

/** Retention has passed with 0 hours: every payload and every key must be destroyed. */
const forbidden = [
  ['syncs with a lease', 'syncs where run_id is not null'],
  ['runs that never ended', "sync_runs where state = 'running'"],
  ['endpoints with a lease', 'webhook_endpoints where lease is not null'],
  ['deliveries that are not delivered', "deliveries where status <> 'succeeded'"],
  ['payloads', 'events where payload is not null or shredded_at is null'],
] as const
