/**
 * Steps 2 and 3 of reading R3 in one: the pre-auth limit and the caller. A key that is known to be good needs
 * no point and is admitted even when other clients behind its address have used up the limit (reading R6):
 * guesses cannot lock it out. Concurrent requests with one token share one reservation. identify.ts finds the
 * caller and decides when a new lookup is needed.
 */
import { LRUCache } from 'lru-cache'
import type { Caller } from '#auth/caller.ts'
import { apiError } from '#contract/errors.ts'
import type { Maybe, WindowState } from '#fast/port.ts'
import { atMost } from '#kernel/at-most.ts'
import { toRetrySeconds } from '#kernel/retry-after.ts'
import type { Credential } from './credential.ts'
import { isUsedElsewhere } from './identify.ts'
import { type ClientWindows, isBadCredentials, type Throttle } from './throttle.ts'

/**
 * The requester before identification: the same object for every request of a connection with the same
 * headers.
 */
export interface UnidentifiedClient {
  readonly credential: Credential
  readonly visitor: ClientWindows
}

export type Admission =
  | { readonly kind: 'in'; readonly caller: Caller }
  /** Too many failures: `rate_limited`. */
  | { readonly kind: 'limited'; readonly window: WindowState; readonly error: unknown }
  /** No caller: bad or missing credentials, or an internal failure. */
  | { readonly kind: 'unknown'; readonly window: WindowState; readonly error: unknown }

export interface Admit {
  /** The caller of a key that was found good within the last second, synchronously; null: call `admit`. */
  recall(client: UnidentifiedClient): Caller | null
  /** To be called in the turn of the event loop in which `recall` found nobody. */
  admit(client: UnidentifiedClient): Promise<Admission>
}

/**
 * Digests of tokens that were valid at their last lookup. Only existing users' tokens are in it, so that
 * guesses cannot fill it.
 */
export type GoodTokens = Pick<LRUCache<string, true>, 'has' | 'set' | 'delete'>

/** Makes an empty one; all doors of a process share it. */
export function makeGoodTokens(): GoodTokens {
  return new LRUCache<string, true>(atMost(10_000))
}

export interface AdmissionOptions {
  readonly throttle: Throttle
  readonly good: GoodTokens
  readonly identify: {
    recall(credential: Credential): Caller | null
    find(credential: Credential): Maybe<Caller>
  }
}

export function makeAdmission(options: AdmissionOptions): Admit {
  const { good, identify } = options
  const waitedFor = new Map<string, Promise<Admission>>()
  return {
    recall: ({ credential }) => identify.recall(credential),
    async admit(client) {
      const { credential, visitor } = client
      if (credential.hash === null) return identifyCounted(options, client)
      if (good.has(credential.digest)) return identifyUncounted(options, client)
      // A key may allow one of two addresses that share a window (reading R43).
      const name = `${visitor.own}${credential.address} ${credential.digest}`
      const ahead = waitedFor.get(name)
      if (ahead !== undefined) return follow(options, ahead, client)
      const admission = identifyCounted(options, client)
      waitedFor.set(name, admission)
      try {
        return await admission
      } finally {
        waitedFor.delete(name)
      }
    },
  }
}

async function identifyCounted(
  options: AdmissionOptions,
  client: UnidentifiedClient,
): Promise<Admission> {
  const { credential, visitor } = client
  const reservation = await options.throttle.reserve(visitor)
  if (!reservation.allowed) return limit(reservation)
  const find = async () => options.identify.find(credential)
  try {
    // Without a token nothing is looked up.
    const caller = await (credential.hash === null
      ? find()
      : options.throttle.lookUp(visitor, find))
    reservation.giveBack()
    options.good.set(credential.digest, true)
    return { kind: 'in', caller }
  } catch (error) {
    // Any other error is a failure of ours: it shows nothing about the key and must not lock it out, because
    // the bucket counts requests without a valid key (contract, Limits).
    if (isBadCredentials(error)) reservation.keep()
    else reservation.giveBack()
    return { kind: 'unknown', window: reservation.state, error }
  }
}

/**
 * Looks up a token that was valid before without reserving a point; a point is taken only if it is no longer
 * valid.
 */
async function identifyUncounted(
  options: AdmissionOptions,
  client: UnidentifiedClient,
): Promise<Admission> {
  try {
    return { kind: 'in', caller: await options.identify.find(client.credential) }
  } catch (error) {
    if (isBadCredentials(error)) {
      // A key that is used elsewhere stays good where its owner uses it.
      if (!isUsedElsewhere(error)) options.good.delete(client.credential.digest)
      return charge(options, client, error)
    }
    return { kind: 'unknown', window: await options.throttle.peek(client.visitor), error }
  }
}

/** Waits for another request with the same token from the same address. */
async function follow(
  options: AdmissionOptions,
  ahead: Promise<Admission>,
  client: UnidentifiedClient,
): Promise<Admission> {
  const admission = await ahead
  switch (admission.kind) {
    case 'in':
      // Looked up again, since rows may have changed meanwhile (reading R27); usually the key is cached by
      // now.
      return identifyUncounted(options, client)
    case 'unknown':
      return isBadCredentials(admission.error)
        ? charge(options, client, admission.error)
        : admission
    default:
      return admission
  }
}

/**
 * Charges one point for bad credentials; when that exceeds the limit, the answer is `rate_limited` instead.
 */
async function charge(
  { throttle }: AdmissionOptions,
  { visitor }: UnidentifiedClient,
  error: unknown,
): Promise<Admission> {
  const reservation = await throttle.reserve(visitor)
  if (!reservation.allowed) return limit(reservation)
  reservation.keep()
  return { kind: 'unknown', window: reservation.state, error }
}

function limit(refused: { readonly state: WindowState; readonly retryMs: number }): Admission {
  return {
    kind: 'limited',
    window: refused.state,
    error: apiError('rate_limited', { retryAfterSeconds: toRetrySeconds(refused.retryMs) }),
  }
}
