/** From the start of the process to `/readyz` on the embedded store, in a folder that is already set up. */
import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Figure } from './figures.ts'
import { median } from './turns.ts'

const rounds = 7
const goalMs = 1000
const patienceMs = 30_000

export async function measureStart(): Promise<Figure[]> {
  const dataDir = await mkdtemp(join(tmpdir(), 'tributary-bench-'))
  const times: number[] = []
  // The first start makes schema and secrets, and does not count.
  for (let round = 0; round <= rounds; round += 1) {
    const ms = await startOnce(dataDir)
    if (round > 0) times.push(ms)
  }
  await rm(dataDir, { recursive: true, force: true })
  const ms = median(times)
  return [
    {
      bench: 'start',
      what: 'process start to /readyz, embedded store, sandbox included',
      figure: `${ms.toFixed(0)} ms`,
      anchor: '',
      ratio: '',
      goal: `< ${goalMs} ms`,
      met: ms < goalMs,
    },
  ]
}

async function startOnce(dataDir: string): Promise<number> {
  const [port, adminPort] = [await freePort(), await freePort()]
  const started = performance.now()
  const main = fileURLToPath(new URL('../src/main.ts', import.meta.url))
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', main], {
    env: { DATA_DIR: dataDir, PORT: String(port), ADMIN_PORT: String(adminPort), SANDBOX: 'true' },
    stdio: 'ignore',
  })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  try {
    while (performance.now() - started < patienceMs) {
      if (child.exitCode !== null) throw new Error(`the process ended with ${child.exitCode}`)
      if (await isReady(adminPort)) return performance.now() - started
      await sleep(5)
    }
    throw new Error('the process was not ready in time')
  } finally {
    child.kill('SIGTERM')
    await ended
  }
}

async function isReady(port: number): Promise<boolean> {
  try {
    return (await fetch(`http://127.0.0.1:${port}/readyz`)).ok
  } catch {
    // Nobody listens yet.
    return false
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() =>
        resolve(typeof address === 'object' && address !== null ? address.port : 0),
      )
    })
  })
}
