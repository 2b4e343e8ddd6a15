/**
 * The engine's storage on the house's store: ids hashed, payloads without their token, redemption atomic, revocation one
 * deletion. It also translates between the engine's clock (the machine's) and the house's. Browser sessions of the
 * engine are not kept: whoever decides is signed in with us.
 */
import type { Adapter, AdapterFactory, AdapterPayload } from 'oidc-provider'
import { parseUuid, type UserId } from '#kernel/ids.ts'
import type { Clock } from '#kernel/time.ts'
import { StoreUnavailableError } from '#store/failure.ts'
import type { OAuthModel, OAuthRow, OAuthStore } from '#store/oauth-port.ts'
import { lifetimes } from './lifetimes.ts'
import { toRowId } from './row-id.ts'

export interface AdapterDeps {
  readonly store: OAuthStore
  readonly clock: Clock
  /** Keyed fingerprint of the address that the request under way came from. */
  readonly origin: () => Uint8Array | null
  /** The engine's error for a code or refresh token that was redeemed before. */
  readonly alreadyUsed: () => Error
  /** A code or refresh token came a second time: somebody else may hold it. */
  readonly onReuse: (payload: AdapterPayload) => void
}

/** Never used clients that one address may leave behind; beyond them its oldest go. */
const maxUnusedClients = 100

const models: ReadonlySet<string> = new Set<OAuthModel>([
  'Client',
  'Interaction',
  'AuthorizationCode',
  'AccessToken',
  'RefreshToken',
])

/** Makes the adapter of each of the engine's models. */
export function makeAdapterFactory(deps: AdapterDeps): AdapterFactory {
  return (name) => {
    if (name === 'Grant') return patient(makeGrantAdapter(deps))
    if (models.has(name)) return patient(makeRowAdapter(name as OAuthModel, deps))
    return forgetful
  }
}

function makeRowAdapter(model: OAuthModel, deps: AdapterDeps): Adapter {
  const { store, clock } = deps
  const read = async (id: string) => {
    const row = await store.find(model, toRowId(model, id))
    return row === null ? null : { row, payload: JSON.parse(row.payload) as AdapterPayload }
  }
  return {
    ...forgetful,
    async upsert(id, payload, expiresIn) {
      const now = clock.now()
      const { grantId } = payload
      const origin = model === 'Client' ? deps.origin() : null
      // False when the grant was revoked meanwhile: the token is born revoked, and the answer stays an honest one.
      await store.save({
        model,
        id: toRowId(model, id),
        grantId: grantId === undefined ? null : toRowId('Grant', grantId),
        origin,
        payload: withoutToken(payload),
        createdAt: now,
        expiresAt: now + (expiresIn ?? lifetimes.unusedClient) * 1000,
      })
      if (origin !== null) await store.trimClients(origin, maxUnusedClients)
      if (model === 'AccessToken' && payload.clientId !== undefined)
        await keepClient(deps, payload.clientId)
    },
    async find(id) {
      const found = await read(id)
      if (found === null) return undefined
      const { row, payload } = found
      // A client is no token: it has neither id nor times of the engine's kind.
      if (model === 'Client') return row.expiresAt > clock.now() ? payload : undefined
      return { ...payload, jti: id, ...toEngineTimes(row, clock), ...consumedAt(row) }
    },
    async consume(id) {
      if (await store.consume(model, toRowId(model, id), clock.now())) return
      // The engine looked before another request redeemed it. That is reuse all the same (OAuth 2.1 §4.1.3, §4.3.1).
      const payload = (await read(id))?.payload
      if (payload?.grantId !== undefined) await store.deleteGrant(toRowId('Grant', payload.grantId))
      if (payload !== undefined) deps.onReuse(payload)
      throw deps.alreadyUsed()
    },
    destroy: (id) => store.delete(model, toRowId(model, id)),
    async revokeByGrantId(grantId) {
      await store.deleteGrant(toRowId('Grant', grantId))
    },
  }
}

function makeGrantAdapter({ store, clock }: AdapterDeps): Adapter {
  return {
    ...forgetful,
    async upsert(id, payload, expiresIn) {
      const userId = parseUuid<UserId>(payload.accountId ?? '')
      if (userId === null) throw new Error('a grant names no user')
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
      const row = await store.findGrant(toRowId('Grant', id))
      if (row === null) return undefined
      const payload = JSON.parse(row.payload) as AdapterPayload
      return { ...payload, jti: id, ...toEngineTimes(row, clock) }
    },
    async destroy(id) {
      await store.deleteGrant(toRowId('Grant', id))
    },
  }
}

async function keepClient({ store, clock }: AdapterDeps, clientId: string): Promise<void> {
  const now = clock.now()
  await store.touchClient(toRowId('Client', clientId), now, now + lifetimes.unusedClient * 1000)
}

/** The row is named by a hash of the token; the token itself must not lie in it, sealed or not. */
function withoutToken({ jti: _token, ...payload }: AdapterPayload): string {
  return JSON.stringify(payload)
}

/**
 * The engine reads the machine's clock; ours may stand elsewhere. What is left of a life by our clock is what the engine
 * shall see: more than nothing is at least a second, nothing or less is over.
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

/** For what is not kept: sessions and everything that is switched off. */
const forgetful: Adapter = {
  upsert: async () => undefined,
  find: async () => undefined,
  findByUserCode: async () => undefined,
  findByUid: async () => undefined,
  consume: async () => undefined,
  destroy: async () => undefined,
  revokeByGrantId: async () => undefined,
}

/** A store that is away is 503, not a mistake of ours. */
function patient(adapter: Adapter): Adapter {
  const guard =
    <Args extends readonly unknown[], Result>(act: (...args: Args) => Promise<Result>) =>
    async (...args: Args): Promise<Result> => {
      try {
        return await act(...args)
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
