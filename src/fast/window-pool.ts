/**
 * Windows of one purpose in this process's memory, bounded in number. When the pool is full it evicts an
 * expired window first, then the oldest that is not used up, and a used-up one only when there is nothing
 * else. A caller who floods the pool with new names therefore cannot evict the windows of refused callers.
 * Every step takes constant time.
 */

/** A window and its place in one of the pool's two lists. */
export interface RateWindow {
  readonly key: string
  count: number
  endsAt: number
  /** How many requests Redis has counted; the others were counted here while it was unavailable. */
  known: number
  /**
   * The era of Redis that has this count (see `CountReply`); null: none, or sending the local counts failed.
   */
  era: number | null
  list: WindowList
  older: RateWindow | null
  newer: RateWindow | null
}

/** Windows in the order in which they were added, the oldest first. */
interface WindowList {
  oldest: RateWindow | null
  newest: RateWindow | null
}

export interface WindowPool {
  find(key: string): RateWindow | undefined
  /** Adds a window with one request counted; may evict another one. */
  add(key: string, now: number, endsAt: number): RateWindow
  /** Starts the window again. */
  restart(window: RateWindow, endsAt: number): void
  /** Call when it becomes used up, or stops being used up. */
  mark(window: RateWindow, isUsedUp: boolean): void
  remove(window: RateWindow): void
  readonly size: number
}

/** How many of the oldest windows of a list are checked for one that has expired. */
const looks = 4

/** An empty pool of at most `maxWindows`. */
export function makeWindowPool(maxWindows: number): WindowPool {
  const windows = new Map<string, RateWindow>()
  const open: WindowList = { oldest: null, newest: null }
  const usedUp: WindowList = { oldest: null, newest: null }

  function remove(window: RateWindow): void {
    unlink(window)
    windows.delete(window.key)
  }

  function findExpired(list: WindowList, now: number): RateWindow | null {
    let window = list.oldest
    for (let look = 0; window !== null && look < looks; look += 1) {
      if (now >= window.endsAt) return window
      window = window.newer
    }
    return null
  }

  function makeRoom(now: number): void {
    // Removes one expired window from each list per addition: they do not stay until the pool is full.
    for (const list of [open, usedUp]) {
      const expired = findExpired(list, now)
      if (expired !== null) remove(expired)
    }
    if (windows.size < maxWindows) return
    const next = open.oldest ?? usedUp.oldest
    if (next !== null) remove(next)
  }

  return {
    find: (key) => windows.get(key),
    add(key, now, endsAt) {
      makeRoom(now)
      const window: RateWindow = {
        key,
        count: 1,
        endsAt,
        known: 0,
        era: null,
        list: open,
        older: null,
        newer: null,
      }
      windows.set(key, window)
      append(open, window)
      return window
    },
    restart(window, endsAt) {
      window.count = 1
      window.endsAt = endsAt
      window.known = 0
      window.era = null
      unlink(window)
      append(open, window)
    },
    mark(window, isUsedUp) {
      const list = isUsedUp ? usedUp : open
      if (window.list === list) return
      unlink(window)
      append(list, window)
    },
    remove,
    get size() {
      return windows.size
    },
  }
}

function append(list: WindowList, window: RateWindow): void {
  window.list = list
  window.older = list.newest
  window.newer = null
  if (list.newest === null) list.oldest = window
  else list.newest.newer = window
  list.newest = window
}

function unlink(window: RateWindow): void {
  const { list, older, newer } = window
  if (older === null) list.oldest = newer
  else older.newer = newer
  if (newer === null) list.newest = older
  else newer.older = older
}
