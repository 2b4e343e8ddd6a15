/**
 * Implements the OAuth engine's storage on our store: ids are hashed, payloads are kept without their token,
 * redemption is atomic, revoking a grant is one deletion. It also converts between the engine's clock (the
 * machine's) and ours. The engine's browser sessions are not kept: the consent page uses our own sign-in.
 */
import type { Adapter, AdapterFactory, AdapterPayload } from 'oidc-provider'
import { parseUuid, type UserId } from '#kernel/ids.ts'
import type { Clock } from '#kernel/time.ts'
import { StoreUnavailableError } from '#store/failure.ts'
import type { NewOAuthRow, OAuthModel, OAuthRow, OAuthStore } from '#store/ports/oauth.ts'
import type { Store } from '#store/ports/store.ts'
import { lifetimes } from './lifetimes.ts'
import { openRow } from './open-row.ts'
import { noteReachedBound, requesterAddress } from './requester.ts'
import { toRowId } from './row-id.ts'

export interface OAuthAdapterOptions {
  readonly store: OAuthStore
  readonly forStranger: Store['forStranger']
  readonly clock: Clock
  /** Keyed fingerprint of the address that sent the current request. */
  readonly origin: () => Uint8Array | null
  /** The engine's error for a code or refresh token that was already redeemed. */
  readonly alreadyUsed: () => Error
  /** The engine's error when too many requests wait; `keepHere` in engine.ts replaces its answer. */
  readonly tooManyPending: () => Error
  /** A code or refresh token was used twice: an attacker may hold a copy. */
  readonly onReuse: (payload: AdapterPayload) => void
  /** A row does not open; for the engine there is none. */
  readonly onDamaged: (error: Error) => void
}

/** Limit of never used clients per address; beyond it the oldest are deleted. */
const maxUnusedClients = 100

/**
 * Limit of requests that may wait for a person at once: per address, and in all (a few kB each). On
 * PostgreSQL those that are stored at the same moment may exceed it, by ten for each process at most.
 */
export const pendingBounds = { ofOrigin: 50, inAll: 5000 } as const

const models: ReadonlySet<string> = new Set<OAuthModel>([
  'Client',
  'Interaction',
  'AuthorizationCode',
  'AccessToken',
  'RefreshToken',
])

/** Makes one adapter for each of the engine's models. */
export function makeAdapterFactory(options: OAuthAdapterOptions): AdapterFactory {
  return (name) => {
    if (name === 'Grant') return inTurn(options, makeGrantAdapter(options))
    if (models.has(name)) return inTurn(options, makeRowAdapter(name as OAuthModel, options))
    return forgetful
  }
}

function makeRowAdapter(model: OAuthModel, options: OAuthAdapterOptions): Adapter {
  const { store, clock } = options
  const read = async (id: string) => {
    const row = await openRow(() => store.find(model, toRowId(model, id)), options.onDamaged)
    return row === null ? null : { row, payload: JSON.parse(row.payload) as AdapterPayload }
  }
  return {
    ...forgetful,
    async upsert(id, payload, expiresIn) {
      const now = clock.now()
      const { grantId } = payload
      const origin = model === 'Client' || model === 'Interaction' ? options.origin() : null
      const row: NewOAuthRow = {
        model,
        id: toRowId(model, id),
        grantId: grantId === undefined ? null : toRowId('Grant', grantId),
        origin,
        payload: withoutToken(payload),
        createdAt: now,
        expiresAt: now + (expiresIn ?? lifetimes.unusedClient) * 1000,
      }
      if (model === 'Interaction') return keepPending(options, row)
      // False when the grant was revoked meanwhile: the token is invalid from the start, as it should be.
      await store.save(row)
      if (origin !== null) await store.trimClients(origin, maxUnusedClients)
      if (model === 'AccessToken' && payload.clientId !== undefined)
        await keepClient(options, payload.clientId)
    },
    async find(id) {
      const found = await read(id)
      if (found === null) return undefined
      const { row, payload } = found
      // A client is not a token: its payload has no `jti`, `iat` or `exp`.
      if (model === 'Client') return row.expiresAt > clock.now() ? payload : undefined
      return { ...payload, jti: id, ...toEngineTimes(row, clock), ...consumedAt(row) }
    },
    async consume(id) {
      if (await store.consume(model, toRowId(model, id), clock.now())) return
      // Another request redeemed it after the engine's look-up. That is reuse too (OAuth 2.1 §4.1.3, §4.3.1).
      const payload = (await read(id))?.payload
      if (payload?.grantId !== undefined) await store.deleteGrant(toRowId('Grant', payload.grantId))
      if (payload !== undefined) options.onReuse(payload)
      throw options.alreadyUsed()
    },
    destroy: (id) => store.delete(model, toRowId(model, id)),
    async revokeByGrantId(grantId) {
      await store.deleteGrant(toRowId('Grant', grantId))
    },
  }
}

function makeGrantAdapter({ store, clock, onDamaged }: OAuthAdapterOptions): Adapter {
  return {
    ...forgetful,
    async upsert(id, payload, expiresIn) {
      const userId = parseUuid<UserId>(payload.accountId ?? '')
      if (userId === null) throw new Error('a grant has no user')
      const now = clock.now()
      await store.saveGrant({
        id: toRowId('Grant', id),
        userId,
        clientId: payload.clientId ?? '',
        payload: withoutToken(payload),
        createdAt: now,
        expiresAt: now + (expiresIn ?? lifetimes.grant) * 1000,
      })
    },
    async find(id) {
      const row = await openRow(() => store.findGrant(toRowId('Grant', id)), onDamaged)
      if (row === null) return undefined
      const payload = JSON.parse(row.payload) as AdapterPayload
      return { ...payload, jti: id, ...toEngineTimes(row, clock) }
    },
    async destroy(id) {
      await store.deleteGrant(toRowId('Grant', id))
    },
  }
}

async function keepPending(
  { store, clock, tooManyPending }: OAuthAdapterOptions,
  row: NewOAuthRow,
) {
  const outcome = await store.savePending(row, { at: clock.now(), ...pendingBounds })
  if (outcome === 'kept') return
  noteReachedBound(outcome === 'full' ? 'all' : 'address')
  throw tooManyPending()
}

async function keepClient({ store, clock }: OAuthAdapterOptions, clientId: string): Promise<void> {
  const now = clock.now()
  await store.touchClient(toRowId('Client', clientId), now, now + lifetimes.unusedClient * 1000)
}

/** The row's id is a hash of the token; the token itself must not be stored, not even sealed. */
function withoutToken({ jti: _token, ...payload }: AdapterPayload): string {
  return JSON.stringify(payload)
}

/**
 * The engine compares with the machine's clock, which can differ from ours. The engine gets the remaining
 * lifetime by our clock: a positive rest becomes at least one second, anything else counts as expired.
 */
function toEngineTimes(
  row: OAuthRow,
  clock: Clock,
): { readonly iat: number; readonly exp: number } {
  const engineNow = Math.floor(Date.now() / 1000)
  const left = row.expiresAt - clock.now()
  const age = Math.max(0, clock.now() - row.createdAt)
  return {
    iat: engineNow - Math.floor(age / 1000),
    exp: engineNow + (left > 0 ? Math.ceil(left / 1000) : Math.floor(left / 1000)),
  }
}

function consumedAt({ usedAt }: OAuthRow): { readonly consumed?: number } {
  return usedAt === null ? {} : { consumed: Math.max(1, Math.floor(usedAt / 1000)) }
}

/** For models that are not stored: sessions and every feature that is switched off. */
const forgetful: Adapter = {
  upsert: async () => undefined,
  find: async () => undefined,
  findByUserCode: async () => undefined,
  findByUid: async () => undefined,
  consume: async () => undefined,
  destroy: async () => undefined,
  revokeByGrantId: async () => undefined,
}

/**
 * The engine works for clients and browsers that nothing is known of. An unavailable store is a 503, not an
 * internal error.
 */
function inTurn({ forStranger }: OAuthAdapterOptions, adapter: Adapter): Adapter {
  const guard =
    <Args extends readonly unknown[], Result>(act: (...args: Args) => Promise<Result>) =>
    async (...args: Args): Promise<Result> => {
      try {
        return await forStranger(requesterAddress() ?? 'page', () => act(...args))
      } catch (cause) {
        if (!(cause instanceof StoreUnavailableError)) throw cause
        throw Object.assign(new Error('the store does not answer', { cause }), { statusCode: 503 })
      }
    }
  return {
    ...adapter,
    upsert: guard(adapter.upsert),
    find: guard(adapter.find),
    consume: guard(adapter.consume),
    destroy: guard(adapter.destroy),
    revokeByGrantId: guard(adapter.revokeByGrantId),
  }
}
