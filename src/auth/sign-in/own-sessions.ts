/** A person's sessions: listed with where they come from, and ended one by one or all but the present one. */
import { type By, mayActFor, type Person } from '#contract/actor.ts'
import type { SessionId, UserId } from '#kernel/ids.ts'
import type { Clock } from '#kernel/time.ts'
import type { SessionRow } from '#store/ports/sessions.ts'
import type { Store } from '#store/ports/store.ts'

export interface OwnSessions {
  /** The sessions of the user that have not ended, the last seen first. */
  list(userId: UserId): Promise<readonly SessionRow[]>
  /** False when the user has no session with this id, or is another person than the one who asks. */
  endOne(by: By, userId: UserId, id: SessionId): Promise<boolean>
  /** Ends all sessions but the one that asks; returns how many. */
  endOthers(by: By<Person>): Promise<number>
}

export function makeOwnSessions(
  { store, clock }: { readonly store: Pick<Store, 'sessions' | 'transact'>; readonly clock: Clock },
  isOpen: (row: SessionRow) => boolean,
): OwnSessions {
  return {
    async list(userId) {
      return (await store.sessions.list(userId)).filter(isOpen)
    },
    async endOne(by, userId, id) {
      if (!mayActFor(by, userId)) return false
      return store.transact(async (tx) => {
        if (!(await tx.sessions.delete(userId, id))) return false
        const about = { action: 'account.end-session', userId, details: { sessionId: id } } as const
        await tx.audit({ at: clock.now(), actor: by.actor, ...about })
        return true
      })
    },
    endOthers: ({ actor }) =>
      store.transact(async (tx) => {
        const { userId, sessionId } = actor
        const count = await tx.sessions.deleteOthers(userId, sessionId)
        if (count === 0) return 0
        const about = { action: 'account.end-other-sessions', userId, details: { count } } as const
        await tx.audit({ at: clock.now(), actor, ...about })
        return count
      }),
  }
}

const maxAgentLength = 256

/** What a browser calls itself, as one bounded line; null when it says nothing. */
export function toAgentText(agent: string | null): string | null {
  const text = (agent ?? '').replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, '').trim()
  return text === '' ? null : text.slice(0, maxAgentLength)
}
