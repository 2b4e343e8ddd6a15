/**
 * The part of a process that sends events: the guarded way out, the worker that is woken by the store, and the sweeps of
 * what was kept long enough.
 */
import { startPeriodic } from '#jobs/periodic.ts'
import { makeGuardedAgent } from '#outbound/guarded-agent.ts'
import { listSecretTexts } from '#settings/secret-texts.ts'
import { version } from '#src/version.ts'
import { makeRedactor } from '#telemetry/redact.ts'
import { makePost, maxAnswerBytes, postTimeoutMs } from '#webhooks/post.ts'
import { makeRetention } from '#webhooks/retention.ts'
import { maxDeliveriesInFlight, startDeliveryWorker } from '#webhooks/worker.ts'
import type { Foundation } from './foundation.ts'
import type { AppOptions } from './options.ts'

export interface Deliveries {
  /** Sends nothing more; resolves when what is in flight is answered and kept, at most some 20 s later. */
  stop(): Promise<void>
}

export function startDeliveries(parts: AppOptions & Foundation): Deliveries {
  const { config, store, clock, reports } = parts
  const { allowPrivate, retryScheduleSeconds, retentionHours } = config.events
  const report = reports.webhooks
  const agent = makeGuardedAgent({
    allowPrivate,
    headersTimeoutMs: postTimeoutMs,
    bodyTimeoutMs: postTimeoutMs,
    maxResponseBytes: maxAnswerBytes,
    // Endpoints of many people may lie behind one host: none of them may wait for another's slow answer.
    connections: maxDeliveriesInFlight,
  })
  const post = makePost({ agent, allowPrivate, userAgent: `tributary/${version}` })
  const worker = startDeliveryWorker(
    {
      store,
      clock,
      post,
      schedule: retryScheduleSeconds,
      redact: makeRedactor(listSecretTexts(config, parts.secrets)),
      report,
      // SQLite has one writer; of PostgreSQL's connections the others are left to requests and syncs.
      writers: config.databaseUrl === null ? 1 : 6,
    },
    reports.jobs,
  )
  const unsubscribe = store.onWork((kind) => {
    if (kind === 'delivery') worker.wake()
  })
  const jobs = [makeRetention({ events: store.events, clock, retentionHours, report })].map(
    (task) => startPeriodic(task, reports.jobs),
  )
  return {
    async stop() {
      unsubscribe()
      await Promise.all([worker.stop(), ...jobs.map((job) => job.stop())])
      await agent.destroy()
    },
  }
}
