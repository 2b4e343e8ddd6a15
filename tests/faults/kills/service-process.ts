/**
 * The service that is killed, in a process of its own: the real app with its background work, in front of the
 * emulators of the process that started it. Its clock runs, and jumps on command. Argument: its options as
 * JSON.
 */
import { openApp } from '#app/app.ts'
import type { Clock } from '#kernel/time.ts'
import type { ProviderAccess } from '#providers/adapters.ts'
import { loadSecrets } from '#settings/secrets.ts'
import { readConfig } from '#src/config.ts'
import { makeLog } from '#telemetry/log.ts'
import { makeMetrics } from '#telemetry/metrics.ts'

export interface ProcessOptions {
  readonly access: ProviderAccess
  /** How far its clock is ahead of the machine's. */
  readonly aheadMs: number
  readonly environment: Readonly<Record<string, string>>
}

/** Sent to it: moves its clock. */
export interface Jump {
  readonly aheadMs: number
}

export interface ProcessFacts {
  readonly adminUrl: string
  readonly adminToken: string
}

const options = JSON.parse(process.argv[2] ?? '{}') as ProcessOptions
let { aheadMs } = options
const clock: Clock = { now: () => Date.now() + aheadMs }
const config = readConfig(options.environment)
const secrets = await loadSecrets(config)
const app = await openApp({
  config,
  secrets,
  access: options.access,
  clock,
  log: makeLog({ level: config.logLevel }),
  metrics: makeMetrics(),
  checkReplies: false,
})
const { adminUrl } = await app.listen()

process.on('message', (jump: Jump) => {
  aheadMs = jump.aheadMs
})
process.once('SIGTERM', () => {
  void app.close().then(() => process.exit(0))
})
process.send?.({ adminUrl, adminToken: secrets.adminToken.reveal() } satisfies ProcessFacts)
