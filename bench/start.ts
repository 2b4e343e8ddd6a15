/**
 * Time from the command that `npm start` runs to `/readyz` 200 on a new SQLite store, with and without the
 * sandbox, and the memory that the service then keeps, and the first requests to what is loaded at its first
 * use.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Figure } from './figures.ts'
import { measureFirstRequests } from './first-requests.ts'
import { startAsInstalled } from './installed-process.ts'
import { median } from './turns.ts'

const rounds = 7
/** After the second collection of a quiet process (`src/app/settle-memory.ts`). */
const idleMs = 25_000
const idleGoalMb = 110

const kinds = {
  'embedded store': {
    goalMs: 350,
    env: { SANDBOX: 'false', FISKIL_CLIENT_ID: 'bench', FISKIL_CLIENT_SECRET: 'bench' },
  },
  'embedded store and sandbox': { goalMs: 450, env: {} },
}

export async function measureStart(): Promise<Figure[]> {
  const bare: number[] = []
  for (let round = 0; round < rounds; round += 1) bare.push(await startBare())
  const anchorMs = median(bare)
  const figures: Figure[] = []
  for (const [kind, { goalMs, env }] of Object.entries(kinds)) {
    const times: number[] = []
    // The first start of a fresh checkout also fills the compile cache: it is reported separately.
    for (let round = 0; round <= rounds; round += 1) times.push((await startOnce(env, 0)).ms)
    const [first = Number.NaN, ...others] = times
    const ms = median(others)
    figures.push({
      bench: 'start',
      what: `start to \`/readyz\`, ${kind}`,
      figure: `${ms.toFixed(0)} ms (first of this run ${first.toFixed(0)} ms)`,
      anchor: `${anchorMs.toFixed(0)} ms, Node itself`,
      ratio: (ms / anchorMs).toFixed(1),
      goal: `≤ ${goalMs} ms`,
      met: ms <= goalMs,
    })
  }
  for (const [kind, { env }] of Object.entries(kinds)) figures.push(await measureIdle(kind, env))
  return [...figures, ...(await measureFirstRequests(kinds['embedded store'].env))]
}

async function measureIdle(kind: string, env: Readonly<Record<string, string>>): Promise<Figure> {
  const { residentMb } = await startOnce(env, idleMs)
  return {
    bench: 'start',
    what: `resident memory ${idleMs / 1000} s after the start, ${kind}`,
    figure: `${residentMb.toFixed(0)} MB`,
    anchor: '',
    ratio: '',
    goal: `≤ ${idleGoalMb} MB`,
    met: residentMb <= idleGoalMb,
  }
}

async function startOnce(given: Readonly<Record<string, string>>, thenMs: number) {
  const { ms, pid, stop } = await startAsInstalled(given)
  await sleep(thenMs)
  const residentMb = readResidentMb(pid)
  await stop()
  return { ms, residentMb }
}

/** Linux alone; NaN elsewhere. */
function readResidentMb(pid: number): number {
  if (process.platform !== 'linux') return Number.NaN
  const text = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(text)?.[1]) / 1024
}

async function startBare(): Promise<number> {
  const started = performance.now()
  await once(spawn(process.execPath, ['-e', '0'], { stdio: 'ignore' }), 'exit')
  return performance.now() - started
}
