/** The lengths of the queues over a day: numbers alone, in the memory of this process. */
import type { FastifyInstance } from 'fastify'
import { type Clock, toIso } from '#kernel/time.ts'
import type { AdminApi } from './api.ts'
import { sumOf } from './metrics.ts'
import type { QueueSample } from './work-page.ts'

const sampleMs = 5 * 60_000
/** A day of them. */
const samplesKept = 288

/** Looks at the queues every five minutes, and keeps a day of it in memory: numbers alone. */
export function keepSamples(
  scope: FastifyInstance,
  api: AdminApi,
  { clock, onFailure }: { readonly clock: Clock; readonly onFailure: (error: unknown) => void },
): () => readonly QueueSample[] {
  const samples: QueueSample[] = []
  const look = () => {
    api
      .metrics()
      .then((metrics) => {
        samples.unshift({
          at: toIso(clock.now()),
          syncsDue: sumOf(metrics, 'tributary_syncs_due'),
          deliveries: sumOf(metrics, 'tributary_deliveries_pending'),
          mails: sumOf(metrics, 'tributary_mails_waiting'),
        })
        samples.length = Math.min(samples.length, samplesKept)
      })
      .catch(onFailure)
  }
  const timer = setInterval(look, sampleMs).unref()
  scope.addHook('onReady', async () => look())
  scope.addHook('onClose', async () => clearInterval(timer))
  return () => samples
}
