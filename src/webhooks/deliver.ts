/**
 * Sends the due deliveries of one claimed endpoint, in rounds: a few at once, and of each lane one after
 * another. After a bounded number of deliveries the endpoint is released, so that others are served. For a
 * paused endpoint only test events and the oldest delivery are attempted, when they are due; the others wait
 * and use up no attempts.
 */
import { holdLease } from '#jobs/lease.ts'
import type { ClaimedEndpoint, DueDelivery } from '#store/ports/deliveries.ts'
import type { EndpointRow } from '#store/ports/endpoints.ts'
import { endpointLeaseMs, renewEveryMs } from './lease.ts'
import type { DeliverOptions } from './options.ts'
import { postTimeoutMs } from './post.ts'
import { makeReadBody } from './read-body.ts'
import { makeRelease, makeSaveAttempt } from './save-attempt.ts'
import type { Claim, SendDeliveryOptions } from './send-delivery.ts'
import { isAiling, maxInFlight, sendRound } from './send-round.ts'

/** Deliveries fetched per round of a healthy endpoint; later ones follow in the next round. */
const maxInRound = 16
const maxInClaim = 160
const maxClaimMs = 20_000
/** Time to store the result after the answer. */
const slackMs = 5000

/** What the next round sends; if nothing, when the endpoint is due again. */
interface Choice {
  readonly due: readonly DueDelivery[]
  readonly notBefore: number
}

/**
 * Makes the work on one claimed endpoint. It resolves when the endpoint is released, or after an unexpected
 * failure: then nothing is sent to it, tests included, until the lease ends. After `stop` is aborted the
 * current round ends and no other begins. `claimedAt`: the value of `performance.now()` before the claim.
 */
export function makeDeliver(given: DeliverOptions) {
  const options: SendDeliveryOptions = {
    ...given,
    saveAttempt: makeSaveAttempt(given),
    readBody: makeReadBody(given.store.events),
  }
  const release = makeRelease(given)
  return async (claimed: ClaimedEndpoint, claimedAt: number, stop: AbortSignal): Promise<void> => {
    const held = holdLease({
      clock: options.clock,
      leaseMs: endpointLeaseMs,
      everyMs: renewEveryMs,
      leaseUntil: claimed.leaseUntil,
      claimedAt,
      // Nothing begins that may outlive it; what was sent is stored only by its holder.
      isLostAtEnd: false,
      renew: (until) => options.store.deliveries.renew(claimed.lease, until),
      onFailure: (error) => options.report.failed('webhook-lease', error),
    })
    // Once a user is being deleted, nothing is sent that is not on its way yet.
    const unsubscribe = options.store.onChange(({ userId }) => {
      if (userId === null || userId === claimed.endpoint.userId) held.check()
    })
    let wait = noWait
    try {
      wait = await runRounds(options, toClaim(claimed, held.lost), () => {
        const isLate = performance.now() - claimedAt > maxClaimMs
        return !stop.aborted && !isLate && held.lasts(postTimeoutMs + slackMs)
      })
    } catch (error) {
      return options.report.failed('webhook-delivery', error)
    } finally {
      unsubscribe()
      await held.release()
    }
    if (held.lost.aborted) return
    await release({ endpointId: claimed.endpoint.id, lease: claimed.lease, ...wait }).catch(
      (error: unknown) => options.report.failed('webhook-release', error),
    )
  }
}

/** @throws Error that says what to do where the URL or the secrets cannot be decrypted. */
function toClaim(claimed: ClaimedEndpoint, lost: AbortSignal): Claim {
  const { secrets, endpoint } = claimed
  const { id, url } = endpoint
  if (url === '')
    throw new Error(
      `the URL of webhook endpoint ${id} cannot be decrypted: remove the endpoint with \`tributary webhooks remove ${id}\` and create it again`,
    )
  if (secrets === null)
    throw new Error(
      `the secret of webhook endpoint ${id} cannot be decrypted: give it a new one with \`tributary webhooks rotate ${id}\``,
    )
  return { ...claimed, secrets, lost }
}

/** Until when the endpoint waits after its release (`DeliveryStore.release`). */
interface Wait {
  readonly notBefore: number
  readonly ofUnhealthy: boolean
}

const noWait: Wait = { notBefore: 0, ofUnhealthy: false }

async function runRounds(
  options: SendDeliveryOptions,
  first: Claim,
  mayGoOn: () => boolean,
): Promise<Wait> {
  let claim = first
  const isHealthy = !isAiling(first.endpoint)
  const follows = (next: DueDelivery) => isHealthy && waitOf(options, next) <= options.clock.now()
  for (let left = maxInClaim; left > 0 && mayGoOn(); ) {
    const choice = await choose(options, claim.endpoint)
    if (choice.due.length === 0)
      return { notBefore: choice.notBefore, ofUnhealthy: isAiling(claim.endpoint) }
    const end = await sendRound(options, claim, { due: choice.due, most: left, follows, mayGoOn })
    left -= Math.max(1, end.sent)
    if (end.holdUntil > 0)
      return {
        notBefore: end.holdUntil,
        ofUnhealthy: end.claim !== null && isAiling(end.claim.endpoint),
      }
    // The lease is lost, or the endpoint changed between healthy and unhealthy.
    if (end.claim === null || isAiling(end.claim.endpoint) !== isAiling(first.endpoint))
      return noWait
    claim = end.claim
  }
  return noWait
}

async function choose(options: DeliverOptions, endpoint: EndpointRow): Promise<Choice> {
  if (endpoint.health === 'disabled') return { due: [], notBefore: 0 }
  return endpoint.health === 'paused'
    ? chooseProbe(options, endpoint)
    : chooseDue(options, endpoint)
}

async function chooseDue(options: DeliverOptions, endpoint: EndpointRow): Promise<Choice> {
  const now = options.clock.now()
  const firstWaitMs = (options.schedule[0] ?? 0) * 1000
  const most = isAiling(endpoint) ? maxInFlight : maxInRound
  // More than one round sends, because some may have to wait for the first entry of the schedule.
  const limit = firstWaitMs === 0 ? most : 8 * maxInFlight
  const all = await options.store.deliveries.listDue(endpoint.id, { now, limit })
  const due = all.filter((one) => waitOf(options, one) <= now).slice(0, most)
  const waits = all.map((one) => waitOf(options, one)).filter((at) => at > now)
  return { due, notBefore: waits.length === 0 ? 0 : Math.min(...waits) }
}

/** The instant before which the first entry of the schedule keeps it from being sent; 0: it does not. */
function waitOf(
  { schedule }: Pick<DeliverOptions, 'schedule'>,
  { attempts, isTest, createdAt }: DueDelivery,
): number {
  return attempts === 0 && !isTest ? createdAt + (schedule[0] ?? 0) * 1000 : 0
}

async function chooseProbe({ store, clock }: DeliverOptions, { id }: EndpointRow): Promise<Choice> {
  const now = clock.now()
  const tests = await store.deliveries.listDue(id, { now, limit: maxInFlight - 1, tests: true })
  const probe = await store.deliveries.findOldest(id)
  if (probe === null) return { due: tests, notBefore: 0 }
  if (probe.dueAt > now) return { due: tests, notBefore: probe.dueAt }
  return { due: [...tests, probe], notBefore: 0 }
}
