/**
 * Who in this process waits for events: woken by the store's announcements, without a query of their own.
 * Waiting is bounded; beyond the bound the longest wait of the user with the most waits ends, which looks
 * like the end of its time: nobody's many waits end those of others. At the end of the process everybody
 * stops.
 */
import type { UserId } from '#kernel/ids.ts'
import type { Store } from '#store/ports/store.ts'

/** `events`: there may be some. `changed`: the user's rows changed. `ended`: waiting is over. */
export type Woken = 'events' | 'changed' | 'ended' | 'time'

export interface EventWait {
  /** Resolves with what has happened since the last call, at once if something has. */
  next(timeoutMs: number): Promise<Woken>
  /** Nobody waits here any more. */
  leave(): void
}

export interface EventWaits {
  /** Notices everything from now on: to be called before the rows are read. */
  join(userId: UserId): EventWait
  /** Ends every wait, and those that begin later. */
  end(): void
  count(): number
  /** Changes with every announcement of events. */
  version(): number
  close(): void
}

export interface EventWaitsOptions {
  readonly store: Pick<Store, 'onFeed' | 'onChange'>
  readonly maxWaits: number
}

interface Waiter extends EventWait {
  readonly userId: UserId
  tell(news: Woken): void
}

/** Who waits in this process, woken by what the store accepts. */
export function makeEventWaits({ store, maxWaits }: EventWaitsOptions): EventWaits {
  /** By user, each in the order of joining. */
  const byUser = new Map<UserId, Set<Waiter>>()
  const all = new Set<Waiter>()
  let isOver = false
  let version = 0

  function tell(userId: UserId | null, news: Woken): void {
    version += 1
    const told = userId === null ? all : byUser.get(userId)
    for (const waiter of told ?? []) waiter.tell(news)
  }

  function remove(waiter: Waiter): void {
    if (!all.delete(waiter)) return
    const own = byUser.get(waiter.userId)
    own?.delete(waiter)
    if (own?.size === 0) byUser.delete(waiter.userId)
  }

  /** The user's own are looked at first: with as many as others have, one of their own ends. */
  function makeRoom(userId: UserId): void {
    if (all.size < maxWaits) return
    let most = byUser.get(userId) ?? new Set<Waiter>()
    for (const waits of byUser.values()) if (waits.size > most.size) most = waits
    const [oldest] = most
    if (oldest === undefined) return
    remove(oldest)
    oldest.tell('ended')
  }

  const stops = [
    store.onFeed(({ userId }) => tell(userId, 'events')),
    store.onChange(({ userId }) => tell(userId, 'changed')),
  ]
  return {
    join(userId) {
      makeRoom(userId)
      const waiter = makeWaiter(userId, remove)
      if (isOver) waiter.tell('ended')
      all.add(waiter)
      byUser.getOrInsertComputed(userId, () => new Set()).add(waiter)
      return waiter
    },
    end() {
      isOver = true
      tell(null, 'ended')
    },
    count: () => all.size,
    version: () => version,
    close() {
      for (const stop of stops) stop()
    },
  }
}

/** What was told first, while nobody listened, is kept; the end and a change count more than events. */
const weights: Readonly<Record<Woken, number>> = { time: 0, events: 1, changed: 2, ended: 3 }

function makeWaiter(userId: UserId, remove: (waiter: Waiter) => void): Waiter {
  let told: Woken = 'time'
  let wake: (() => void) | null = null
  const waiter: Waiter = {
    userId,
    tell(news) {
      if (weights[news] > weights[told]) told = news
      wake?.()
    },
    next(timeoutMs) {
      return new Promise((resolve) => {
        const finish = () => {
          clearTimeout(timer)
          wake = null
          const news = told
          if (news !== 'ended') told = 'time'
          resolve(news)
        }
        const timer = setTimeout(finish, timeoutMs)
        wake = finish
        if (told !== 'time') finish()
      })
    },
    leave() {
      remove(waiter)
      wake?.()
    },
  }
  return waiter
}
