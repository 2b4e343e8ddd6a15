/** A whole Tributary for measuring: production settings, embedded engines, the emulators, limits that count but never refuse. */
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '#kernel/time.ts'
import { prepareDemo } from '#sandbox/demo.ts'
import { startSandbox } from '#sandbox/start.ts'
import { openApp } from '#src/app.ts'
import { readConfig } from '#src/config.ts'
import { makeLog } from '#src/log.ts'
import { makeMetrics } from '#src/metrics.ts'
import { loadSecrets } from '#src/secrets.ts'

const uncounted = '1000000'

export async function startMeasured() {
  const dataDir = await mkdtemp(join(tmpdir(), 'tributary-bench-'))
  const config = readConfig({
    PORT: '0',
    ADMIN_PORT: '0',
    DATA_DIR: dataDir,
    SANDBOX: 'true',
    RATE_LIMIT_CHEAP: uncounted,
    RATE_LIMIT_MID: uncounted,
    RATE_LIMIT_HEAVY: uncounted,
    CONCURRENCY_HEAVY: '1000',
  })
  const clock = systemClock
  const sandbox = await startSandbox({ clock })
  const app = await openApp({
    config,
    secrets: await loadSecrets(config),
    access: sandbox.access,
    clock,
    log: makeLog({ level: 'info', pretty: false }),
    metrics: makeMetrics(),
    checkReplies: false,
  })
  const { origins } = await app.listen()
  const demo = await prepareDemo({ ...app, sandbox, clock, folder: config.storeDir })
  const port = Number(new URL(origins.base).port)
  const path = (limit: number) =>
    `/v1/transactions?connectionId=${demo.connectionId}&accountId=${demo.accountId}&from=2026-01-01&limit=${limit}`
  return { port, path, key: demo.users[0]?.key ?? '', app, sandbox, demo }
}
