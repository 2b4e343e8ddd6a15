/** Turns the reports of the webhooks room into log lines, metrics and spans. */
import type { WebhooksReport } from '#webhooks/options.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'
import { spanOfDelivery } from './span-facts.ts'
import type { Tracing } from './tracing.ts'

export function makeWebhookReports(
  log: Log,
  metrics: Metrics,
  {
    tracing,
    backgroundFailure,
  }: {
    readonly tracing: Tracing
    readonly backgroundFailure: (task: string, error: unknown) => void
  },
): WebhooksReport {
  return {
    attempt(event) {
      tracing.record(spanOfDelivery(event))
      metrics.webhooks.attempt(event)
      // Failures of receivers concern their owners, who see them in the audit and in the list of deliveries.
      log.debug(event, 'event delivery attempted')
    },
    warning({ endpointId, warning }) {
      if (warning.kind === 'failing') {
        const { days } = warning
        metrics.webhooks.warned(`failing_${days}d`)
        log.warn({ endpointId, days }, 'a webhook endpoint has failed every attempt for days')
        return
      }
      const { reason } = warning
      metrics.webhooks.warned(`disabled_${reason}`)
      log.warn({ endpointId, reason }, 'a webhook endpoint was disabled')
    },
    shredded: (count) => metrics.webhooks.shredded(count),
    failed: backgroundFailure,
  }
}
