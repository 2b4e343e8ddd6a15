/**
 * The fuzzed service in a process of its own, so that its memory is its own: the real app in front of the
 * emulators of the process that started it, on a clock that moves on command. Argument: its options as JSON.
 */

import { openApp } from '#app/app.ts'
import type { Clock } from '#kernel/time.ts'
import type { ProviderAccess } from '#providers/adapters.ts'
import { loadSecrets } from '#settings/secrets.ts'
import { readConfig } from '#src/config.ts'
import { makeLog } from '#telemetry/log.ts'
import { makeMetrics } from '#telemetry/metrics.ts'

export interface ServiceOptions {
  readonly access: ProviderAccess
  readonly now: number
  readonly environment: Readonly<Record<string, string>>
}

export type Question = { readonly advance: number } | 'memory'

export interface ServiceFacts {
  readonly baseUrl: string
  readonly adminUrl: string
  readonly adminToken: string
}

const options = JSON.parse(process.argv[2] ?? '{}') as ServiceOptions
let { now } = options
const clock: Clock = { now: () => now }
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
const { origins, adminUrl } = await app.listen()

process.on('message', (question: Question) => {
  if (question === 'memory') {
    globalThis.gc?.()
    process.send?.(process.memoryUsage())
    return
  }
  now += question.advance
  process.send?.('advanced')
})
process.send?.({
  baseUrl: origins.base,
  adminUrl,
  adminToken: secrets.adminToken.reveal(),
} satisfies ServiceFacts)
