/**
 * Sends one round of an endpoint's due deliveries: a few at once, and the next when one is answered and stored. Nothing
 * more is begun once the endpoint asked for a pause, changed between healthy and ailing, or is no longer this process's.
 */
import type { DueDelivery } from '#store/ports/deliveries.ts'
import type { EndpointRow } from '#store/ports/endpoints.ts'
import { type Claim, type SendDeps, sendDelivery } from './send-delivery.ts'

/** Deliveries in flight to one endpoint. */
export const maxInFlight = 4

export interface RoundEnd {
  /** As the last attempt left it; null: the lease is lost, or its secrets cannot be decrypted any more. */
  readonly claim: Claim | null
  /** Milliseconds since the epoch; 0: no pause was asked for. */
  readonly holdUntil: number
}

/** Resolves when every answer is stored. @throws the first error of the store. */
export async function sendRound(
  deps: SendDeps,
  first: Claim,
  due: readonly DueDelivery[],
  mayGoOn: () => boolean,
): Promise<RoundEnd> {
  const bodies = await deps.store.events.readBodies(due.map(({ eventId }) => eventId))
  const waiting = [...due]
  let claim: Claim | null = first
  let holdUntil = 0
  let isOver = false

  async function sendNext(): Promise<void> {
    while (claim !== null && !isOver && mayGoOn()) {
      const delivery = waiting.shift()
      if (delivery === undefined) return
      const sent = await sendDelivery(deps, claim, { delivery, body: bodies.get(delivery.eventId) })
      // Once lost it stays lost, whatever was answered meanwhile.
      if (claim !== null) claim = sent?.claim ?? null
      holdUntil = Math.max(holdUntil, sent?.holdUntil ?? 0)
      isOver ||=
        holdUntil > 0 || claim === null || isAiling(claim.endpoint) !== isAiling(first.endpoint)
    }
  }

  const slots = Array.from({ length: Math.min(maxInFlight, due.length) }, () =>
    sendNext().catch((error: unknown) => {
      isOver = true
      throw error
    }),
  )
  // Waits for all of them, even when one fails, so that every answer is stored while the lease is held.
  for (const result of await Promise.allSettled(slots))
    if (result.status === 'rejected') throw result.reason
  return { claim, holdUntil }
}

export const isAiling = ({ health }: EndpointRow) => health !== 'healthy'
