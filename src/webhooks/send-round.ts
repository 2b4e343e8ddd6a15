/**
 * Sends an endpoint's due deliveries: a few at once, and the next when one is answered and stored. The next
 * delivery of a lane follows in the same round. Nothing more is begun once the endpoint asked for a pause,
 * changed between healthy and unhealthy, or is no longer this process's.
 */
import type { Millis } from '#kernel/time.ts'
import type { DueDelivery } from '#store/ports/deliveries.ts'
import type { EndpointRow } from '#store/ports/endpoints.ts'
import {
  type Claim,
  type SendDeliveryOptions,
  type SendResult,
  sendDelivery,
} from './send-delivery.ts'

/** Deliveries in flight to one endpoint. */
export const maxInFlight = 4

export interface Round {
  readonly due: readonly DueDelivery[]
  /** Deliveries that may be sent, those of `due` included. */
  readonly most: number
  /** A delivery that became due during the round follows in it if this is true. */
  readonly follows: (next: DueDelivery) => boolean
  readonly mayGoOn: () => boolean
}

export interface RoundEnd {
  readonly sent: number

  /** As the last attempt left it; null: the lease is lost, or its secrets cannot be decrypted any more. */
  readonly claim: Claim | null
  /** 0: no pause was asked for. */
  readonly holdUntil: Millis
}

/** Resolves when every answer is stored. @throws the first error of the store. */
export async function sendRound(
  options: SendDeliveryOptions,
  first: Claim,
  round: Round,
): Promise<RoundEnd> {
  const { due, most, follows, mayGoOn } = round
  const waiting = [...due]
  let claim: Claim | null = first
  let holdUntil = 0
  let isOver = false
  let sent = 0

  /** What became of one; once lost the lease stays lost, whatever was answered meanwhile. */
  function note(result: SendResult | null): void {
    if (claim !== null) claim = result?.claim ?? null
    holdUntil = Math.max(holdUntil, result?.holdUntil ?? 0)
    isOver ||=
      holdUntil > 0 || claim === null || isAiling(claim.endpoint) !== isAiling(first.endpoint)
    const next = result?.next ?? null
    if (next !== null && follows(next)) waiting.push(next)
  }

  async function sendNext(): Promise<void> {
    while (claim !== null && !isOver && sent < most && mayGoOn()) {
      const delivery = waiting.shift()
      if (delivery === undefined) return
      sent += 1
      const body = await options.readBody(delivery.eventId)
      // Meanwhile another slot may have ended the round.
      if (claim === null || isOver || !mayGoOn()) return
      note(await sendDelivery(options, claim, { delivery, body }))
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
  return { sent, claim, holdUntil }
}

export const isAiling = ({ health }: EndpointRow) => health !== 'healthy'
