/**
 * What this process holds for streams whose clients do not read: bounded for all of them together, since one
 * key can open many. Beyond the bound those that have not read for longest are ended, once they have had time
 * for it: many may be sent the same events at once. An ended stream can be resumed.
 */

/** What waits until its client reads. */
export interface Unread {
  /** What this stream alone holds. */
  readonly bytes: number
  /** What it may share with others: it counts once. */
  readonly shared: { readonly of: object; readonly bytes: number }
  /** Ends the stream. */
  readonly end: () => void
}

export interface UnreadStreams {
  add(unread: Unread): void
  /** Its client has read, or is gone. */
  remove(unread: Unread): void
}

export interface UnreadOptions {
  readonly mostBytes: number
  /** So long a client may take to read before its stream can be ended. */
  readonly graceMs: number
  /** In milliseconds, from any moment on. */
  readonly now: () => number
}

const defaults: UnreadOptions = {
  mostBytes: 64 * 1024 * 1024,
  graceMs: 5000,
  now: () => performance.now(),
}

/** Nothing is held yet. */
export function makeUnreadStreams(options: Partial<UnreadOptions> = {}): UnreadStreams {
  const { mostBytes, graceMs, now } = { ...defaults, ...options }
  /** With the time of each, in the order in which they began to wait. */
  const waiting = new Map<Unread, number>()
  /** How many hold it. */
  const holders = new Map<object, number>()
  let bytes = 0
  let isLater = false

  function remove(unread: Unread): void {
    if (!waiting.delete(unread)) return
    const { of, bytes: sharedBytes } = unread.shared
    const left = (holders.get(of) ?? 1) - 1
    bytes -= unread.bytes
    if (left > 0) {
      holders.set(of, left)
    } else {
      holders.delete(of)
      bytes -= sharedBytes
    }
  }

  function trim(): void {
    for (const [oldest, since] of waiting) {
      if (bytes <= mostBytes) return
      const left = since + graceMs - now()
      if (left > 0) {
        trimLater(left)
        return
      }
      remove(oldest)
      oldest.end()
    }
  }

  function trimLater(afterMs: number): void {
    if (isLater) return
    isLater = true
    setTimeout(() => {
      isLater = false
      trim()
    }, afterMs).unref()
  }

  return {
    add(unread) {
      const { of, bytes: sharedBytes } = unread.shared
      const before = holders.get(of) ?? 0
      holders.set(of, before + 1)
      bytes += unread.bytes + (before === 0 ? sharedBytes : 0)
      waiting.set(unread, now())
      trim()
    },
    remove,
  }
}
