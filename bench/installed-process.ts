/** The service as `npm start` starts it, on a new SQLite store, in a process that is the service itself. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { request } from 'undici'

const maxWaitMs = 30_000
const starter = fileURLToPath(new URL('../scripts/pinned.js', import.meta.url))

/** Resolves at `/readyz` 200. `ms`: how long that took from the command. */
export async function startAsInstalled(given: Readonly<Record<string, string>>) {
  const dataDir = await mkdtemp(join(tmpdir(), 'tributary-start-'))
  const [port, adminPort] = [await findPort(), await findPort()]
  const own = { DATA_DIR: dataDir, PORT: String(port), ADMIN_PORT: String(adminPort) }
  const env = { ...process.env, ...given, ...own }
  const started = performance.now()
  // The starter becomes the service, so that its process is the one that is measured.
  const child = spawn(process.execPath, [starter, 'src/main.ts'], { env, stdio: 'ignore' })
  const exited = once(child, 'exit')
  await untilReady(`http://127.0.0.1:${adminPort}/readyz`, started + maxWaitMs)
  const ms = performance.now() - started
  return {
    ms,
    pid: child.pid ?? 0,
    base: `http://127.0.0.1:${port}`,
    async stop() {
      child.kill('SIGTERM')
      await exited
      await rm(dataDir, { recursive: true, force: true })
    },
  }
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
