/**
 * Logins whose secret can be had only once (reading R38), or that wait for a consent: it is stored before
 * anything else is done with it, with an open link, so that nothing sweeps it for an hour. A person who
 * pastes the same text again within that hour, or at another process at once, goes on with what was stored.
 */
import { hash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { By } from '#contract/actor.ts'
import type { Provider } from '#contract/resources.ts'
import { newId, type SessionId, type UserId } from '#kernel/ids.ts'
import { dayMs } from '#kernel/time.ts'
import type { Identity, SentClaims } from '#providers/credentials.ts'
import type { DiscoveredConnection, Login } from '#providers/port.ts'
import { openLogin } from '#store/open-login.ts'
import type { LoginRow, NewLogin } from '#store/ports/logins.ts'
import type { StoreRows } from '#store/ports/store.ts'
import { toLogin } from '../ask-provider.ts'
import type { ActionOptions } from '../options.ts'
import { hashState, linkingLifeMs, newState } from './linking-attempt.ts'

/** The user's logins at the provider: one of them may be the one that credentials or a return renew. */
export async function listKnown(
  { store }: ActionOptions,
  userId: UserId,
  provider: Provider,
): Promise<readonly Login[]> {
  const known: Login[] = []
  for (const id of await store.logins.listIds(userId)) {
    const login = await openLogin(store, id)
    if (login !== null && login !== 'damaged' && login.provider === provider) {
      known.push(toLogin(login))
    }
  }
  return known
}

/** Longer than a setup token or a code is good for anywhere. */
const sentClaimsLifeMs = 30 * dayMs

/** As long as another process is waited for that sends the same claim, and how often it is looked for. */
const sending = { mostMs: 10_000, everyMs: 250 } as const

/** Claims are remembered as links that have ended, of which a user has a bounded number. */
export function makeSentClaims(
  options: ActionOptions,
  { actor }: By,
  { userId, provider }: { readonly userId: UserId; readonly provider: Provider },
): SentClaims {
  const { store, clock } = options
  let looks = 0
  const toId = (name: string) => hash('sha256', `claim ${userId} ${provider} ${name}`, 'buffer')
  const sessionId = actor.kind === 'person' ? actor.sessionId : newId<SessionId>()
  return {
    add(name) {
      const id = toId(name)
      const at = clock.now()
      const claim = {
        ...{ id, userId, sessionId, provider },
        loginId: null,
        institutionId: null,
        connectionId: null,
        createdAt: at,
        expiresAt: at + sentClaimsLifeMs,
      }
      return store.transact(async (tx) => {
        // The user's row is locked from here on: another process may send the same claim.
        await tx.logins.holdNamed({ userId, provider, upstreamUserId: name })
        if ((await tx.linkings.find(id)) !== null) return false
        await tx.linkings.create(claim, { at, outcome: 'sent' })
        return true
      })
    },
    async waitFor(name) {
      const row = await store.linkings.find(toId(name))
      const isNew = row === null || clock.now() - row.createdAt < sending.mostMs
      looks += 1
      if (!isNew || looks > sending.mostMs / sending.everyMs) return null
      await sleep(sending.everyMs)
      return listKnown(options, userId, provider)
    },
    remove: (name) => store.linkings.forget(toId(name)),
  }
}

/** A login that was stored before it was used, and the link that keeps it meanwhile. */
export interface ClaimedLogin {
  readonly row: LoginRow
  readonly linkingId: Uint8Array
}

/** @throws OwnerGoneError, LoginTakenError */
export function saveClaimed(
  options: ActionOptions,
  by: By,
  login: NewLogin,
): Promise<ClaimedLogin> {
  return options.store.transact((tx) => saveClaimedIn(tx, options, by, login))
}

/** As `saveClaimed`, with further changes of one transaction. */
export async function saveClaimedIn(
  tx: StoreRows,
  { clock }: Pick<ActionOptions, 'clock'>,
  { actor }: By,
  login: NewLogin,
): Promise<ClaimedLogin> {
  const at = clock.now()
  const id = hashState(newState())
  const sessionId = actor.kind === 'person' ? actor.sessionId : newId<SessionId>()
  const { userId, provider } = login
  const row = await tx.logins.save(login)
  await tx.linkings.create({
    ...{ id, userId, sessionId, provider },
    loginId: row.id,
    institutionId: null,
    connectionId: null,
    createdAt: at,
    expiresAt: at + linkingLifeMs,
  })
  await tx.linkings.claim(id, { sessionId, at })
  return { row, linkingId: id }
}

/**
 * The stored login that this secret renews: one of the same server with one of these connections. Null: it is
 * a login of its own.
 */
export async function findRenewedLogin(
  { store }: ActionOptions,
  userId: UserId,
  { peers = [] }: Identity,
  discovered: readonly DiscoveredConnection[],
): Promise<LoginRow | null> {
  const found = new Set(discovered.map(({ upstreamId }) => upstreamId))
  for (const id of peers) {
    const rows = await store.connections.listByLogin(id)
    const hasOne = rows.some((row) => row.userId === userId && found.has(row.upstreamId))
    const login = hasOne ? await openLogin(store, id) : null
    if (login !== null && login !== 'damaged') return login
  }
  return null
}

/** What was claimed is linked: the link has ended, and a login that another one took the place of goes. */
export async function endClaimed(
  { store, clock }: ActionOptions,
  { row, linkingId }: ClaimedLogin,
): Promise<void> {
  await store.linkings.end(linkingId, { at: clock.now(), outcome: 'linked' })
  await store.logins.deleteUnused(row.id)
}
