/** Time from the command that `npm start` runs to `/readyz` 200, on a new SQLite store. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { request } from 'undici'
import type { Figure } from './figures.ts'
import { median } from './turns.ts'

const rounds = 7
const goalMs = 1000
const maxWaitMs = 30_000
const starter = fileURLToPath(new URL('../scripts/pinned.js', import.meta.url))

export async function measureStart(): Promise<Figure[]> {
  const times: number[] = []
  // The first start of a fresh checkout also fills the compile cache: it is reported separately.
  for (let round = 0; round <= rounds; round += 1) times.push(await startOnce())
  const bare: number[] = []
  for (let round = 0; round < rounds; round += 1) bare.push(await startBare())
  const [first = Number.NaN, ...others] = times
  const ms = median(others)
  return [
    {
      bench: 'start',
      what: 'start to `/readyz`, embedded store and sandbox',
      figure: `${ms.toFixed(0)} ms (first of this run ${first.toFixed(0)} ms)`,
      anchor: `${median(bare).toFixed(0)} ms, Node itself`,
      ratio: (ms / median(bare)).toFixed(1),
      goal: `≤ ${goalMs} ms`,
      met: ms <= goalMs,
    },
  ]
}

async function startOnce(): Promise<number> {
  const dataDir = await mkdtemp(join(tmpdir(), 'tributary-start-'))
  const adminPort = await findPort()
  const env = { ...process.env, DATA_DIR: dataDir, PORT: '0', ADMIN_PORT: String(adminPort) }
  const started = performance.now()
  const child = spawn(process.execPath, [starter, 'src/main.ts'], { env, stdio: 'ignore' })
  const exited = once(child, 'exit')
  await untilReady(`http://127.0.0.1:${adminPort}/readyz`, started + maxWaitMs)
  const ms = performance.now() - started
  child.kill('SIGTERM')
  await exited
  await rm(dataDir, { recursive: true, force: true })
  return ms
}

async function startBare(): Promise<number> {
  const started = performance.now()
  await once(spawn(process.execPath, ['-e', '0'], { stdio: 'ignore' }), 'exit')
  return performance.now() - started
}

async function untilReady(url: string, deadline: number): Promise<void> {
  while (performance.now() < deadline) {
    const status = await request(url).then(
      async ({ statusCode, body }) => {
        await body.dump()
        return statusCode
      },
      // Not listening yet.
      () => 0,
    )
    if (status === 200) return
    await sleep(5)
  }
  throw new Error('it did not become ready')
}

async function findPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
