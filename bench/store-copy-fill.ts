/**
 * A store of made-up people for the measurement of copies: connections with accounts, months of the ledger,
 * keys, and events that wait with sealed payloads. Nothing of it is read by a service.
 */
import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { type EventId, newId } from '#kernel/ids.ts'
import type { Engine } from '#store/engine/engine.ts'
import { makeEventKey, wrapKey } from '#store/events/event-seal.ts'
import { makeSealer } from '#store/seal.ts'
import { fillDeliveries, fillFleet } from './fleet/fill.ts'
import { insertRows, storeKey, toHex, toTime } from './ground.ts'

export interface CopiedSize {
  readonly connections: number
}

const accountsOfConnection = 2
const months = [24_309, 24_310, 24_311]
/** Forty rows of a month: a header of two bytes, 16 bytes for each. */
const monthBytes = 2 + 16 * 40
const payloadBytes = 2000

/** @returns how many rows there are in the largest tables. */
export async function fillForCopy(engine: Engine, { connections }: CopiedSize): Promise<void> {
  const now = Date.now()
  const sealer = makeSealer([storeKey])
  const people = await fillFleet(engine, {
    connections,
    endpoints: connections,
    now,
    dueAt: (index) => now + (index % 21_600) * 1000,
  })
  await insertRows(
    engine,
    'api_keys',
    people.map(({ id }) => ({
      id: newId(),
      user_id: id,
      name: 'laptop',
      prefix: 'trib_live_0CiOts',
      hash: toHex(randomBytes(32)),
      created_at: toTime(now),
    })),
  )
  await insertRows(
    engine,
    'accounts',
    people.flatMap((person) =>
      person.connections.flatMap((connection) =>
        Array.from({ length: accountsOfConnection }, (_, index) => ({
          id: newId(),
          connection_id: connection,
          user_id: person.id,
          upstream_id: `acc_${index}_${connection}`,
          name: `Kōwhai saver ${index}`,
          type: 'savings',
          account_number: 'xxxx1234',
          currency: 'NZD',
          hidden: false,
        })),
      ),
    ),
  )
  await sql`insert into ledger_months (account_id, month, entries)
    select accounts.id, month.value, randomblob(${monthBytes})
    from accounts, json_each(${JSON.stringify(months)}) as month`.execute(engine.db)
  await fillDeliveries(engine, people, { now, each: 1 })
  await sql`update events set payload = randomblob(${payloadBytes})`.execute(engine.db)
  const events = await engine.db.selectFrom('events').select('id').execute()
  for (let from = 0; from < events.length; from += 500)
    await engine
      .keysOf(engine.db)
      .insertInto('event_keys')
      .values(
        events.slice(from, from + 500).map(({ id }) => ({
          event_id: id as EventId,
          ...wrapKey(sealer, id as EventId, makeEventKey()),
          created_at: new Date(now),
        })),
      )
      .execute()
}
