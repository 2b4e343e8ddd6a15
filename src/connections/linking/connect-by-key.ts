/**
 * Links by a key that a person pasted. It waits no longer than a moment: what takes longer goes on, and is
 * kept like a link that came back from a provider's page, whose page says what has become of it. The key
 * itself is kept nowhere before it is accepted.
 */
import type { By, Person } from '#contract/actor.ts'
import { ApiError } from '#contract/errors.ts'
import type { Provider } from '#contract/resources.ts'
import type { ConnectionId } from '#kernel/ids.ts'
import { UpstreamError } from '#providers/failure.ts'
import type { LinkingFailure } from '#providers/linking.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'
import type { LinkingRow } from '#store/ports/linkings.ts'
import { limitTime } from '../ask-provider.ts'
import { isTooMany } from '../held-bounds.ts'
import type { ActionOptions } from '../options.ts'
import { turnAt } from '../turns.ts'
import { linkNow, parseCredentials } from './link-connections.ts'
import {
  hashState,
  type LinkingName,
  linkingLifeMs,
  newState,
  toLinkingName,
} from './linking-attempt.ts'
import { failLinking } from './linking-failed.ts'

export type OwnKeyEnd =
  | {
      readonly kind: 'linked'
      readonly connections: readonly ConnectionRow[]
      readonly isRenewal: boolean
    }
  | { readonly kind: 'waiting'; readonly attempt: LinkingName }
  /** The key is stored, and the person chooses an institution, whose page asks for the consent. */
  | { readonly kind: 'needs_consent' }

/**
 * @param renews the connection that gets a new key; null: none.
 * @throws ApiError as `linkConnections` does, where the provider answers within the moment.
 */
export type ConnectByKey = (
  by: By<Person>,
  input: unknown,
  renews: ConnectionId | null,
) => Promise<OwnKeyEnd>

export function makeConnectByKey(options: ActionOptions): ConnectByKey {
  return async (by, input, renews) => {
    const credentials = parseCredentials(input)
    const { provider } = credentials
    const { userId } = by.actor
    const turn = turnAt({ userId, provider })
    const id = hashState(newState())
    const startedAt = options.clock.now()
    const state: { kept: Promise<LinkingRow> | null; end: (() => OwnKeyEnd) | null } = {
      kept: null,
      end: null,
    }
    const work = async (stop: AbortSignal) => {
      try {
        const { identity, connections } = await options.queue.take(turn, () => {
          const askOptions = limitTime(options, { priority: 'user', stop, person: by.person })
          return linkNow(options, by, { userId, credentials }, askOptions)
        })
        state.end = () =>
          identity.needsConsent === true
            ? { kind: 'needs_consent' }
            : { kind: 'linked', connections, isRenewal: renews !== null }
        if (state.kept !== null) await succeed(options, await state.kept, connections)
      } catch (error) {
        state.end = () => {
          throw error
        }
        if (state.kept === null) throw error
        await fail(options, by, { attempt: await state.kept, error })
      }
    }
    await options.late.begin(`linking ${toLinkingName(id)}`, work)
    if (state.end !== null) return state.end()
    state.kept = keep(options, by, { id, provider, startedAt, renews })
    await state.kept
    return { kind: 'waiting', attempt: toLinkingName(id) }
  }
}

interface Kept {
  readonly id: Uint8Array
  readonly provider: Provider
  readonly startedAt: number
  readonly renews: ConnectionId | null
}

/** As a link whose return is being read. */
function keep(
  { store, clock }: ActionOptions,
  { actor: { userId, sessionId } }: By<Person>,
  { id, provider, startedAt, renews }: Kept,
): Promise<LinkingRow> {
  return store.transact(async (tx) => {
    const row = await tx.linkings.create({
      ...{ id, userId, sessionId, provider },
      loginId: null,
      institutionId: null,
      connectionId: renews,
      createdAt: startedAt,
      expiresAt: startedAt + linkingLifeMs,
    })
    await tx.linkings.claim(id, { sessionId, at: clock.now() })
    return row
  })
}

/** What was linked has its audit row. */
async function succeed(
  options: ActionOptions,
  { id, provider }: LinkingRow,
  [first]: readonly ConnectionRow[],
): Promise<void> {
  options.report.linking({ provider, outcome: 'linked', code: null })
  await options.store.transact(async (tx) => {
    if (first !== undefined) await tx.linkings.setLogin(id, first.loginId)
    await tx.linkings.end(id, { at: options.clock.now(), outcome: 'linked' })
  })
}

/** @throws what is no answer of the provider, once the link has ended. */
async function fail(
  options: ActionOptions,
  by: By<Person>,
  { attempt, error }: { readonly attempt: LinkingRow; readonly error: unknown },
): Promise<void> {
  if (error instanceof ApiError && error.entry === 'user_not_found') return
  await failLinking(options, by, { attempt, reason: toReason(error), code: toCode(error) })
  if (!(error instanceof ApiError)) throw error
}

function toReason(error: unknown): LinkingFailure {
  if (isTooMany(error)) return 'too_many'
  if (error instanceof ApiError && error.status < 500) return 'key_refused'
  const { cause } = error instanceof Error ? error : {}
  const isOurs = cause instanceof UpstreamError && cause.failure.kind === 'misconfigured'
  return isOurs ? 'misconfigured' : 'unavailable'
}

function toCode(error: unknown): string {
  if (!(error instanceof ApiError)) return 'internal'
  const { cause, entry } = error
  return cause instanceof UpstreamError ? `${cause.failure.kind}: ${cause.failure.detail}` : entry
}
