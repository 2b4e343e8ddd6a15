/**
 * The part of a process that sends events: the guarded agent, the worker that the store notifies of due work,
 * the acceptance of events about connections, and the sweeps at the end of retention.
 */
import { startPeriodic } from '#jobs/periodic.ts'
import { lazily } from '#kernel/lazily.ts'
import { makeLateAgent } from '#outbound/late-agent.ts'
import { listSecretTexts } from '#settings/secret-texts.ts'
import { version } from '#src/version.ts'
import { makeRedactor } from '#telemetry/redact.ts'
import { makeConnectionEvents } from '#webhooks/accept-connection-events.ts'
import { makeExpiryEvents } from '#webhooks/expiry-events.ts'
import { makeMissedSweep } from '#webhooks/missed.ts'
import { makePost, maxAnswerBytes, postTimeoutMs } from '#webhooks/post.ts'
import { makeRetention } from '#webhooks/retention.ts'
import { makeDeliveryWaitCheck } from '#webhooks/waits.ts'
import { maxDeliveriesInFlight, startDeliveryWorker } from '#webhooks/worker.ts'
import type { AssemblyOptions } from './foundation.ts'

export interface Deliveries {
  /** Sends nothing more; resolves when the attempts in flight are stored, after about 20 s at most. */
  stop(): Promise<void>
}

export function startDeliveries(options: AssemblyOptions): Deliveries {
  const { config, store, clock, reports } = options
  const { allowPrivate, retryScheduleSeconds, retentionHours } = config.events
  const report = reports.webhooks
  const agent = makeLateAgent({
    allowPrivate,
    headersTimeoutMs: postTimeoutMs,
    bodyTimeoutMs: postTimeoutMs,
    maxResponseBytes: maxAnswerBytes,
    // Endpoints of many users may share one host: none of them may wait for the slow answer of another.
    connections: maxDeliveriesInFlight,
  })
  const openPost = lazily(async () =>
    makePost({ agent: await agent.open(), allowPrivate, userAgent: `tributary/${version}` }),
  )
  const worker = startDeliveryWorker(
    {
      store,
      clock,
      post: async (message, stop) => (await openPost())(message, stop),
      schedule: retryScheduleSeconds,
      redact: makeRedactor(listSecretTexts(config, options.secrets)),
      report,
      // SQLite has one writer. On PostgreSQL more would keep fewer attempts each, in as many statements, and
      // the usual attempt does not wait for the disk.
      writers: 1,
    },
    reports.jobs,
  )
  const accepting = startPeriodic(makeConnectionEvents(store), reports.jobs)
  const unsubscribe = store.onWork((kind) => {
    if (kind === 'delivery') worker.wake()
    if (kind === 'connection-event') accepting.wake()
  })
  const jobs = [
    makeExpiryEvents({ store, clock }),
    makeRetention({ events: store.events, clock, retentionHours, report }),
    makeMissedSweep(store.deliveries),
    makeDeliveryWaitCheck({
      deliveries: store.deliveries,
      clock,
      schedule: retryScheduleSeconds,
    }),
  ].map((task) => startPeriodic(task, reports.jobs))
  return {
    async stop() {
      unsubscribe()
      await Promise.all([worker.stop(), accepting.stop(), ...jobs.map((job) => job.stop())])
      await agent.close()
    },
  }
}
