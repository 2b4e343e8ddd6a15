/**
 * Stores attempts and releases endpoints, many in one transaction (src/webhooks/batch.ts). The audit rows of
 * warnings to the owner are in the same transaction as the attempt that caused them.
 */
import { bySystem } from '#contract/actor.ts'
import type { EndpointId } from '#kernel/ids.ts'
import { unreachable } from '#kernel/unreachable.ts'
import type { AuditEntry } from '#store/ports/audit.ts'
import type { AttemptResult, RecordedState } from '#store/ports/deliveries.ts'
import type { EndpointRow, HealthChange } from '#store/ports/endpoints.ts'
import type { StoreRows } from '#store/ports/store.ts'
import { makeBatch } from './batch.ts'
import { findHealthWarnings, type HealthSignal, nextHealth, type Warning } from './health.ts'
import type { DeliverOptions } from './options.ts'

export interface AttemptToSave extends Omit<AttemptResult, 'health'> {
  readonly endpointId: EndpointId
  readonly signal: HealthSignal
}

export interface SavedAttempt extends RecordedState {
  readonly warnings: readonly Warning[]
}

/** Null: the lease is lost or the delivery was deleted, and nothing was stored. */
export type SaveAttempt = (attempt: AttemptToSave) => Promise<SavedAttempt | null>

type SaveAttemptOptions = Pick<DeliverOptions, 'store' | 'clock' | 'writers'>

export function makeSaveAttempt({ store, clock, writers }: SaveAttemptOptions): SaveAttempt {
  return makeBatch<AttemptToSave, SavedAttempt | null>(store, {
    writers,
    // A success that is lost is found by sending the event again under the same id, as after an answer that
    // did not arrive. A failure is not: it may disable the endpoint and send a mail.
    mayBeLost: ({ signal }) => signal === 'succeeded',
    async work(tx, attempts) {
      const before = new Map<AttemptToSave, HealthChange>()
      const states = await tx.deliveries.record(
        attempts.map((attempt) => ({
          ...attempt,
          health(now) {
            before.set(attempt, now)
            return nextHealth(now, attempt.signal, clock.now())
          },
        })),
      )
      const kept: (SavedAttempt | null)[] = []
      for (const [index, attempt] of attempts.entries()) {
        const state = states[index] ?? null
        const former = before.get(attempt)
        const warnings =
          state === null || former === undefined ? [] : findHealthWarnings(former, state.endpoint)
        for (const warning of warnings)
          if (state !== null) await audit(tx, state.endpoint, warning, clock.now())
        kept.push(state === null ? null : { ...state, warnings })
      }
      return kept
    },
  })
}

/** An audit row for each warning, and a mail for an endpoint that was disabled. */
async function audit(
  tx: Pick<StoreRows, 'audit' | 'mails'>,
  endpoint: EndpointRow,
  warning: Warning,
  at: number,
): Promise<void> {
  await tx.audit(toEntry(endpoint, warning, at))
  if (warning.kind !== 'disabled') return
  const { id, userId } = endpoint
  const matter = { kind: 'endpoint-disabled', endpointId: id, reason: warning.reason } as const
  // It may be enabled and disabled again: each time is a matter of its own.
  await tx.mails.queue({ key: `endpoint:${id}:${at}`, userId, matter, at })
}

/** Owners and operators read the audit; it contains only ids and numbers. */
function toEntry(
  { id: endpointId, userId }: EndpointRow,
  warning: Warning,
  at: number,
): AuditEntry {
  const entry = { at, actor: bySystem.actor, userId }
  switch (warning.kind) {
    case 'failing':
      return { ...entry, action: 'webhooks.failing', details: { endpointId, days: warning.days } }
    case 'disabled':
      return {
        ...entry,
        action: 'webhooks.disable',
        details: { endpointId, reason: warning.reason },
      }
    default:
      return unreachable(warning)
  }
}

interface Release {
  readonly endpointId: EndpointId
  readonly lease: string
  readonly notBefore: number
  readonly ofUnhealthy: boolean
}

export function makeRelease({
  store,
  clock,
  writers,
}: SaveAttemptOptions): (release: Release) => Promise<void> {
  return makeBatch<Release, void>(store, {
    writers,
    async work({ deliveries }, releases) {
      for (const { lease, notBefore, ofUnhealthy } of releases)
        await deliveries.release(lease, { now: clock.now(), notBefore, ofUnhealthy })
      return releases.map(() => undefined)
    },
  })
}
