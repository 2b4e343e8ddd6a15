/**
 * `npm run fuzz -- --requests 100000 [--seed S]`: the long run, against the service in a process of its own.
 * It goes through the properties in rounds, prints what came back, what was slow and what memory it cost, and
 * ends with 1 when a property broke or memory grew. `--kind K --seed S --path P` shows one failure again.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { startSandbox } from '#sandbox/start.ts'
import { makeStillClock } from '#tests/support/service.ts'
import { answerTimeoutMs, type Bursts, makeBursts } from './bursts.ts'
import { type Kind, kinds, tryProperty } from './properties.ts'
import type { Question, ServiceFacts, ServiceOptions } from './service-process.ts'
import { openSilentSockets } from './sockets.ts'
import { findUnfairness } from './strangers.ts'
import { fuzzEnvironment, makeWorld, type World } from './world.ts'

/**
 * Cache 16 MB, shared pages 48 MB, windows and sorted queries some 40 MB: what is allowed to be held, and a
 * margin.
 */
const maxGrowthBytes = 128 * 1024 * 1024
/** Silent connections are closed after the header time (15 s), as seen by a check every 5 s. */
const silentMs = 25_000
const silentCount = 150
/** Draws per round: most rounds are plain requests. */
const rounds: readonly (readonly [Kind, number])[] = [
  ['requests', 400],
  ['faults', 120],
  ['requests', 400],
  ['sockets', 120],
  ['strangers', 150],
]

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '100000' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000_000) },
    kind: { type: 'string' },
    path: { type: 'string' },
  },
})
const seed = Number(values.seed)
const wanted = Number(values.requests)
const only = kinds.find((kind) => kind === values.kind)

const clock = makeStillClock()
const dataDir = await mkdtemp(join(tmpdir(), 'tributary-fuzz-'))
const sandbox = await startSandbox({ clock })
const child = startChild({
  access: sandbox.access,
  now: clock.now(),
  environment: {
    // Background syncs would use the same emulators.
    ROLE: 'api',
    PORT: '0',
    ADMIN_PORT: '0',
    DATA_DIR: dataDir,
    SANDBOX: 'true',
    LOG_LEVEL: 'fatal',
    ...fuzzEnvironment,
  },
})
const { pid } = child
const facts = (await answer(child)) as ServiceFacts
const world = await makeWorld({
  ...facts,
  sandbox,
  async advance(ms) {
    clock.advance(ms)
    await ask({ advance: ms })
  },
})
const bursts = makeBursts(world)

try {
  process.exitCode = values.path === undefined ? await runLong() : await runAgain(values.path)
} finally {
  bursts.sender.close()
  child.removeAllListeners('exit')
  child.kill('SIGKILL')
  await sandbox.close()
  await rm(dataDir, { recursive: true, force: true })
}

async function runAgain(path: string): Promise<number> {
  const failure = await tryProperty(only ?? 'requests', world, bursts, { seed, runs: 1, path })
  console.log(failure ?? 'it holds now')
  return failure === null ? 0 : 1
}

async function runLong(): Promise<number> {
  console.log(`seed ${seed}, at least ${wanted} requests`)
  const started = performance.now()
  const failure = await runRounds(world, bursts)
  const seconds = (performance.now() - started) / 1000
  printTally(bursts, seconds)
  if (failure !== null) {
    console.log(`\nBROKEN: ${failure}`)
    return 1
  }
  return 0
}

/** Null when everything held. */
async function runRounds(place: World, played: Bursts): Promise<string | null> {
  const silent = openSilentSockets(place.port, silentCount)
  const silentSince = performance.now()
  let warm: number | null = null
  await memory('before')
  try {
    for (let round = 0; played.tally.requests < wanted; round += 1) {
      const [kind, runs] = rounds[round % rounds.length] ?? ['requests', 100]
      if (only !== undefined && only !== kind) continue
      const failure = await tryProperty(kind, place, played, { seed: seed + round, runs })
      if (child.exitCode !== null || child.signalCode !== null) return 'the process ended'
      if (failure !== null) return failure
      // Cached answers expire meanwhile: the clock moves by a minute, and sometimes by more than the longest
      // life.
      await place.advance(round % 10 === 9 ? 3_700_000 : 61_000)
      if (warm === null && played.tally.requests > wanted / 10) warm = await memory('after a tenth')
    }
    const wait = silentMs - (performance.now() - silentSince)
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait))
    console.log(`silent connections closed: ${silent.closed()} of ${silent.count}`)
    if (silent.closed() < silent.count) return 'a silent connection was held for ever'
  } finally {
    silent.destroy()
  }
  const unfair = await findUnfairness(place, answerTimeoutMs)
  if (unfair !== null) return unfair
  console.log(
    `process ${pid} is the one that was started; the strangers' address is refused, others are served`,
  )
  const grown = (await memory('at the end')) - (warm ?? 0)
  return warm !== null && grown > maxGrowthBytes ? `memory grew by ${toMegabytes(grown)}` : null
}

async function memory(when: string): Promise<number> {
  const { rss, heapUsed, external } = (await ask('memory')) as NodeJS.MemoryUsage
  const [resident, heap, outside] = [rss, heapUsed, external].map(toMegabytes)
  console.log(`memory ${when}: ${resident} resident, ${heap} of it heap, ${outside} buffers`)
  return rss
}

function toMegabytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(0)} MB`
}

function printTally({ tally }: Bursts, seconds: number): void {
  console.log(
    `${tally.requests} requests in ${seconds.toFixed(0)} s (${(tally.requests / seconds).toFixed(0)} a second)`,
  )
  const statuses = [...tally.statuses].sort(([left], [right]) => (left < right ? -1 : 1))
  for (const [status, count] of statuses) console.log(`  ${status.padEnd(9)} ${count}`)
  console.log('slowest:')
  for (const { ms, line } of tally.slowest) console.log(`  ${ms.toFixed(0)} ms  ${line}`)
}

function startChild(options: ServiceOptions): ChildProcess {
  const file = fileURLToPath(new URL('./service-process.ts', import.meta.url))
  return fork(file, [JSON.stringify(options)], {
    execArgv: ['--disable-warning=ExperimentalWarning', '--expose-gc'],
    env: { ...process.env, NODE_ENV: 'production' },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
}

function ask(question: Question): Promise<unknown> {
  const reply = answer(child)
  child.send(question)
  return reply
}

function answer(service: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const gone = (code: number | null) => reject(new Error(`the service ended (${code})`))
    service.once('exit', gone)
    service.once('message', (message) => {
      service.off('exit', gone)
      resolve(message)
    })
  })
}
