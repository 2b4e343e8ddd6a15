/**
 * Kills the service at random moments of starts, syncs and deliveries, changes rows in between, and judges at
 * the end what its receivers got. Emulators and receivers are in this process, so that they survive every
 * kill.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { EmulatorRequest } from '#sandbox/emulator.ts'
import type { Sandbox } from '#sandbox/start.ts'
import type { Child } from './child.ts'
import type { Ground } from './ground.ts'
import { openStage, type Stage, settle, setUp, startLife } from './stage.ts'

export interface KillOptions {
  readonly ground: Ground
  readonly rounds: number
  readonly seed: string
  readonly say?: (line: string) => void
}

export interface KillResult {
  /** Everything that is wrong, in words; empty: every promise held. */
  readonly problems: readonly string[]
  /** By the kind of moment. */
  readonly kills: Readonly<Record<Moment, number>>
  readonly events: number
  readonly messages: number
  readonly rows: number
}

/**
 * `start`: while it starts. `read`: after so many requests to the bank. `message`: after so many messages to
 * a receiver, before they are answered or a little later. `time`: whenever.
 */
type Moment = 'start' | 'read' | 'message' | 'time'
const moments = ['start', 'read', 'read', 'message', 'message', 'time'] as const

/** A moment that does not come is not waited for. */
const patienceMs = 3000

export async function runKills({ ground, rounds, seed, say }: KillOptions): Promise<KillResult> {
  const stage = await openStage(ground, seed)
  const { receiver, bank } = stage
  const kills = { start: 0, read: 0, message: 0, time: 0 }
  try {
    await killFirstStart(stage)
    await begin(stage)
    for (let round = 0; round < rounds; round += 1) {
      const moment = await runRound(stage)
      kills[moment] += 1
      if (round % 10 === 9) say?.(`${round + 1} rounds, ${receiver.count()} messages`)
      if (receiver.problems.length > 0) break
    }
    const problems = await settle(stage)
    const events = receiver.endpoints[0]?.arrivals.length ?? 0
    return { problems, kills, events, messages: receiver.count(), rows: bank.rows.length }
  } finally {
    await stage.close()
  }
}

/** Before anything exists: what it leaves behind must not hinder the next start. */
async function killFirstStart(stage: Stage): Promise<void> {
  const child = startLife(stage)
  await sleep(stage.random.int(0, 1500))
  await child.kill()
}

/** Killed as soon as everything is made. */
async function begin(stage: Stage): Promise<void> {
  const child = startLife(stage)
  try {
    await setUp(stage, child)
  } finally {
    await child.kill()
  }
}

/** One life of every process, with requests for syncs, until one moment kills them one after another. */
async function runRound(stage: Stage): Promise<Moment> {
  const { random, bank, ground } = stage
  bank.change()
  // Leases of killed processes have expired, or only those of deliveries, or none: then little happens before
  // the kill.
  const restMs = random.pick([0, 70_000, 130_000, 130_000, 130_000, 130_000])
  stage.aheadMs += restMs
  const children = Array.from({ length: ground.processes }, () => startLife(stage))
  let moment = random.pick(restMs > 120_000 ? moments : (['start', 'time'] as const))
  try {
    if (moment === 'start') await sleep(random.int(0, 2500))
    else moment = await live(stage, children, moment)
    for (const child of children) {
      await child.kill()
      // The others continue for a while.
      await sleep(random.int(0, 300))
    }
    return moment
  } finally {
    await Promise.all(children.map((child) => child.kill()))
  }
}

async function live(
  stage: Stage,
  children: readonly Child[],
  moment: Exclude<Moment, 'start'>,
): Promise<Moment> {
  const { random } = stage
  const comes = await Promise.all(children.map((child) => child.ready)).then(() =>
    waitFor(stage, moment),
  )
  askForSyncs(stage, children)
  if (random.next() < 0.15) {
    // The clock jumps under a process that lives.
    stage.aheadMs += 130_000
    for (const child of children) child.jump({ aheadMs: stage.aheadMs })
    askForSyncs(stage, children)
  }
  return (await comes.happened) ? moment : 'time'
}

/** Without waiting for them: most are cut. One that is done owes whatever its bank shows. */
function askForSyncs(stage: Stage, children: readonly Child[]): void {
  for (const [bank, id] of stage.connections.entries()) {
    const child = stage.random.pick(children)
    child.ask('POST', `/admin/connections/${id}/sync`).then(
      () => stage.bank.owe(bank),
      () => {},
    )
  }
}

/** Wrapped, because the wait begins before the syncs are asked for. */
function waitFor(stage: Stage, moment: Exclude<Moment, 'start'>) {
  const { random, sandbox, receiver } = stage
  const afterMs = random.pick([0, 0, random.int(0, 15), random.int(0, 80)])
  if (moment === 'time') return { happened: sleep(random.int(0, 1500)).then(() => true) }
  let left = moment === 'read' ? random.int(1, 10) : random.int(1, 4)
  const happened = new Promise<boolean>((resolve) => {
    const count = () => {
      left -= 1
      if (left === 0) setTimeout(resolve, afterMs, true)
    }
    if (moment === 'message') receiver.onMessage = count
    else watchRequests(sandbox, count)
    setTimeout(resolve, patienceMs, false)
  }).finally(() => {
    receiver.onMessage = () => {}
    sandbox.fiskil.clearFaults()
  })
  return { happened }
}

/** A fault that never applies sees every request. */
function watchRequests(sandbox: Sandbox, count: () => void): void {
  const when = (_request: EmulatorRequest) => {
    count()
    return false
  }
  sandbox.fiskil.addFault({ when, does: { kind: 'hang' } })
}
