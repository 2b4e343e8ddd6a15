/**
 * What faults are tried on: emulators and receivers in this process, which survive whatever happens to the
 * service, and one user with two banks and two endpoints. In the end everything is synced and delivered, and
 * judged.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { makeRandom, type Random } from '#sandbox/seed.ts'
import { type Sandbox, startSandbox } from '#sandbox/start.ts'
import { type Bank, makeBank } from './bank.ts'
import { type Child, startChild } from './child.ts'
import type { Ground } from './ground.ts'
import { findBrokenPromises } from './judge.ts'
import { findLeftovers, listAccepted } from './leftovers.ts'
import { type Receiver, startReceiver } from './receiver.ts'

const settleMs = 120_000
const hourMs = 3_600_000

export interface Stage {
  /** Replaced where its environment changes. */
  ground: Ground
  readonly random: Random
  readonly sandbox: Sandbox
  readonly receiver: Receiver
  readonly bank: Bank
  /** How far the service's clock is ahead; moved by the rounds. */
  aheadMs: number
  userId: string
  /** Ids of the connections, in the order of the banks. */
  connections: readonly string[]
  close(): Promise<void>
}

/** The service is not started yet. */
export async function openStage(ground: Ground, seed: string): Promise<Stage> {
  const time = { aheadMs: 0, connections: [], userId: '' }
  const nowMs = () => Date.now() + time.aheadMs
  const sandbox = await startSandbox({ clock: { now: nowMs } })
  const receiver = await startReceiver({ random: makeRandom(`${seed}:receiver`), nowMs })
  const bank = makeBank(sandbox, makeRandom(`${seed}:bank`), nowMs)
  const random = makeRandom(seed)
  return Object.assign(time, {
    ground,
    random,
    sandbox,
    receiver,
    bank,
    async close() {
      await receiver.close()
      await sandbox.close()
    },
  })
}

/** Makes the user, the endpoints and the connections, through one process. */
export async function setUp(stage: Stage, child: Child): Promise<void> {
  const user = (await child.ask('POST', '/admin/users', { email: 'emma@kills.example' })) as {
    id: string
  }
  for (const endpoint of stage.receiver.endpoints) {
    const made = (await child.ask('POST', `/admin/users/${user.id}/webhooks`, {
      url: `${stage.receiver.url}/${endpoint.name}`,
      skipEmpty: endpoint.name === 'news',
    })) as { id: string; secret: string }
    Object.assign(endpoint, { id: made.id, secret: made.secret })
  }
  stage.userId = user.id
  const { endUserId } = stage.sandbox.fiskil.people.healthy
  const linked = (await child.ask('POST', `/admin/users/${user.id}/connections`, {
    provider: 'fiskil',
    endUserId,
  })) as { connections: { id: string; institutionName: string }[] }
  stage.connections = stage.bank.names.map(
    (name) => linked.connections.find((one) => one.institutionName === name)?.id ?? name,
  )
}

/** A process of the service; its environment is that of the ground, and what is given. */
export function startLife(
  { sandbox, ground, random, aheadMs }: Stage,
  environment: Readonly<Record<string, string>> = {},
): Child {
  return startChild({
    access: sandbox.access,
    aheadMs,
    environment: {
      PORT: '0',
      ADMIN_PORT: '0',
      ROLE: 'all',
      LOG_LEVEL: 'fatal',
      // With 0 the keys and payloads of what is delivered are destroyed under way, too.
      EVENT_RETENTION_HOURS: random.pick(['0', '72']),
      ...ground.environment,
      ...environment,
    },
  })
}

/** The clock of the service is set ahead, or back. */
export function passTime(stage: Stage, children: readonly Child[], ms: number): void {
  stage.aheadMs += ms
  for (const child of children) child.jump({ aheadMs: stage.aheadMs })
}

/** A sync of each bank, one after another; what they show is owed then. @throws Error when one fails. */
export async function syncAll(stage: Stage, child: Child): Promise<void> {
  for (const [index, id] of stage.connections.entries()) {
    await child.ask('POST', `/admin/connections/${id}/sync`)
    stage.bank.owe(index)
  }
}

/**
 * Nothing is killed any more: all leases end, everything is synced and delivered; then everything is judged.
 */
export async function settle(stage: Stage): Promise<readonly string[]> {
  const { receiver, bank, ground } = stage
  receiver.behave()
  stage.aheadMs += 600_000
  const last = startLife(stage)
  try {
    await last.ready
    await syncAll(stage, last)
    await waitUntilSent(stage, last)
    await last.stop()
    const problems = [...receiver.problems]
    for (const endpoint of receiver.endpoints) {
      const accepted = await listAccepted(ground, endpoint.id)
      const broken = findBrokenPromises(endpoint.arrivals, accepted, bank.rows)
      problems.push(...broken.map((one) => `${endpoint.name}: ${one}`))
    }
    await sweep(stage)
    return [...problems, ...(await findLeftovers(ground))]
  } finally {
    await last.kill()
  }
}

/** Moves the clock forwards, for retries that are due later. */
async function waitUntilSent(stage: Stage, child: Child): Promise<void> {
  const isSentOrLater = async () => {
    const isSent = await isEverythingSent(stage, child)
    if (!isSent) passTime(stage, [child], 60_000)
    return isSent
  }
  await waitUntil('everything is delivered', isSentOrLater, 500)
}

/** The newest deliveries suffice: of a connection an older one is sent before. */
export async function isEverythingSent({ receiver }: Stage, child: Child): Promise<boolean> {
  const pages = await Promise.all(
    receiver.endpoints.map(({ id }) => child.ask('GET', `/admin/webhooks/${id}/deliveries`)),
  )
  return (pages as { data: { status: string }[] }[]).every(({ data }) =>
    data.every(({ status }) => status === 'succeeded'),
  )
}

/** Two hours later no delivery is pending, and with a retention of 0 hours nothing is kept. */
async function sweep(stage: Stage): Promise<void> {
  stage.aheadMs += 2 * hourMs
  const child = startLife(stage, { EVENT_RETENTION_HOURS: '0' })
  try {
    await child.ready
    // One whole run: payloads first, then keys without an event.
    const name = 'tributary_background_last_success_seconds{task="event-retention"}'
    await waitUntil('retention has run', async () => (await readMetric(child, name)) !== null)
    await child.stop()
  } finally {
    await child.kill()
  }
}

/** Where `isSo` moves the clock, what it waits for needs time in between: `everyMs`. */
export async function waitUntil(
  what: string,
  isSo: () => Promise<boolean>,
  everyMs = 100,
): Promise<void> {
  const deadline = performance.now() + settleMs
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error(`it did not come to this: ${what}`)
    await sleep(everyMs)
  }
}

/** Null: it has no value yet. */
export async function readMetric(child: Child, series: string): Promise<number | null> {
  const lines = String(await child.ask('GET', '/metrics')).split('\n')
  const line = lines.find((one) => one.startsWith(`${series} `))
  return line === undefined ? null : Number(line.slice(series.length))
}
