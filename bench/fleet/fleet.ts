/**
 * A fleet on one store: what a claim costs as the fleet grows, whether every statement uses an index, and how
 * late work begins in simulated time. On PostgreSQL the fleet is twenty times as large as on SQLite.
 */
import { sql } from 'kysely'
import type { Figure } from '../figures.ts'
import { type Ground, onGrounds, withEngine } from '../ground.ts'
import { type ClaimCost, measureClaims } from './claims.ts'
import { type FleetSize, fillFleet } from './fill.ts'
import { measureLag } from './lag.ts'
import { checkPlans } from './plans.ts'

export interface FleetSizes {
  readonly sqlite: FleetSize
  readonly postgres: FleetSize
  /** Claims that are measured at each size. */
  readonly items: number
  /** Of simulated time. */
  readonly minutes: number
  /** Processes that sync and deliver; SQLite has one. */
  readonly workers: number
}

const usualFleet: FleetSizes = {
  sqlite: { connections: 5000, endpoints: 500 },
  postgres: { connections: 100_000, endpoints: 20_000 },
  items: 200,
  minutes: 5,
  workers: 4,
}

/** Sizes from the command line: whole numbers above zero, the usual ones where there are none. */
export function toFleetSizes(
  flags: Readonly<Partial<Record<'connections' | 'endpoints' | 'minutes' | 'workers', string>>>,
): FleetSizes {
  const read = (name: keyof typeof flags, usual: number): number => {
    const value = Number(flags[name] ?? usual)
    if (!Number.isSafeInteger(value) || value < 1)
      throw new Error(`--${name} must be a whole number above zero`)
    return value
  }
  const resize = ({ connections, endpoints }: FleetSize): FleetSize => ({
    connections: read('connections', connections),
    endpoints: read('endpoints', endpoints),
  })
  return {
    sqlite: resize(usualFleet.sqlite),
    postgres: resize(usualFleet.postgres),
    items: usualFleet.items,
    minutes: read('minutes', usualFleet.minutes),
    workers: read('workers', usualFleet.workers),
  }
}

/** The most that a claim may cost at the full size, compared with a hundredth of it. */
const growthGoal = 2
const intervalMs = 6 * 3_600_000

export async function measureFleet(sizes: FleetSizes): Promise<Figure[]> {
  const claims = await onGrounds((ground) => measureCosts(ground, sizes))
  return [...claims, ...(await onGrounds((ground) => measureLags(ground, sizes)))]
}

const sizeOn = ({ place }: Ground, { sqlite, postgres }: FleetSizes): FleetSize =>
  place.databaseUrl === null ? sqlite : postgres

async function measureCosts(ground: Ground, sizes: FleetSizes): Promise<Figure[]> {
  const full = sizeOn(ground, sizes)
  const steps = [100, 10, 1].map((part) => ({
    connections: Math.ceil(full.connections / part),
    endpoints: Math.ceil(full.endpoints / part),
  }))
  const costs = await measureClaims(ground.place, steps, sizes.items)
  const plans = await checkPlans(ground.place, Date.now())
  const [first, last] = [costs[0], costs.at(-1)]
  if (first === undefined || last === undefined) throw new Error('nothing was measured')
  const compare = (what: string, costOf: (cost: ClaimCost) => number): Figure => {
    const ratio = costOf(last) / costOf(first)
    return {
      bench: 'fleet',
      what: `${what}, ${ground.title}`,
      figure: costs.map((cost) => `${costOf(cost).toFixed(2)} ms`).join(' → '),
      anchor: `at ${costs.map(({ size }) => size.connections.toLocaleString('en')).join(' → ')} connections`,
      ratio: ratio.toFixed(2),
      goal: `≤ ${growthGoal}`,
      met: ratio <= growthGoal,
    }
  }
  return [
    compare('claim of a sync', ({ sync }) => sync.claim),
    compare('end of a sync without news', ({ sync }) => sync.finish),
    compare('claim of 16 endpoints', ({ delivery }) => delivery.claim),
    compare('an attempt is kept', ({ delivery }) => delivery.record),
    {
      ...plain,
      what: `longest event-loop stall of these steps, ${ground.title}`,
      figure: `${costs.map(({ stall }) => stall.toFixed(0)).join(' → ')} ms`,
    },
    {
      ...plain,
      what: `tables read as a whole by ${plans.statements} statements, ${ground.title}`,
      figure: plans.scans.length === 0 ? 'none' : plans.scans.join('; '),
      goal: 'none',
      met: plans.scans.length === 0,
    },
  ]
}

const plain = { bench: 'fleet', anchor: '', ratio: '', goal: '', met: null } as const

async function measureLags(ground: Ground, sizes: FleetSizes): Promise<Figure[]> {
  const full = sizeOn(ground, sizes)
  const now = Date.now()
  const workers = ground.place.databaseUrl === null ? 1 : sizes.workers
  const people = await withEngine(ground.place, async (engine) => {
    // Due evenly over the interval, as connections drift apart.
    const dueAt = () => now + Math.random() * intervalMs
    const filled = await fillFleet(engine, { ...full, now, dueAt })
    if (engine.kind === 'postgres') await sql`analyze`.execute(engine.db)
    return filled
  })
  const lag = await measureLag(ground.place, people, { now, minutes: sizes.minutes, workers })
  const fleet = `${full.connections.toLocaleString('en')} connections, ${workers} processes, ${ground.title}`
  const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`
  return [
    {
      ...plain,
      what: `p95 lag of ${lag.syncs} due syncs in ${sizes.minutes} simulated minutes, ${fleet}`,
      figure: seconds(lag.syncP95),
    },
    {
      ...plain,
      what: `p95 lag of ${lag.deliveries} deliveries while a tenth of the endpoints is dead (${lag.deadAttempts} attempts), ${fleet}`,
      figure: seconds(lag.deliveryP95),
    },
  ]
}
