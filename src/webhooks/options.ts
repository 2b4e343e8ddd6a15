/** What deliveries and actions on endpoints need, and what they report. */
import type { EndpointId } from '#kernel/ids.ts'
import type { Clock } from '#kernel/time.ts'
import type { Store } from '#store/ports/store.ts'
import type { Warning } from './health.ts'
import type { Post } from './post.ts'

/** Turned into log lines and metrics by the composition root. */
export interface WebhooksReport {
  /** One attempt; `status` null: there was no answer. */
  attempt(event: {
    readonly endpointId: EndpointId
    /** `missed`: its endpoint was disabled meanwhile, so that no other attempt follows. */
    readonly outcome: 'succeeded' | 'retry' | 'exhausted' | 'missed'
    readonly status: number | null
    readonly failure: string | null
    readonly durationMs: number
    /** From acceptance to this attempt; null: it is not the first of its delivery. */
    readonly lagMs: number | null
  }): void
  /** A warning to the owner, which is in the audit too. */
  warning(event: { readonly endpointId: EndpointId; readonly warning: Warning }): void
  /** Number of payloads destroyed at the end of their retention. */
  shredded(count: number): void
  failed(task: string, error: unknown): void
}

export interface DeliverOptions {
  readonly store: Pick<Store, 'transact' | 'deliveries' | 'events' | 'onChange'>
  readonly clock: Clock
  readonly post: Post
  /** Seconds before each attempt (`WEBHOOK_RETRY_SCHEDULE`). */
  readonly schedule: readonly number[]
  /** Removes secrets from a text, whatever their source. */
  readonly redact: (text: string) => string
  readonly report: WebhooksReport
  /** Number of concurrent transactions that store attempts (src/webhooks/batch.ts). */
  readonly writers: number
  /** From 0 up to 1. */
  readonly random?: () => number
}
