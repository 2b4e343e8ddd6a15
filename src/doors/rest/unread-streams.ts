/**
 * What this process holds for streams whose clients do not read: bounded for all of them together, since one
 * key can open many. Beyond the bound the one that has not read for longest is ended; it can be resumed.
 */

/** What waits until its client reads. */
export interface Unread {
  readonly bytes: number
  /** Ends the stream. */
  readonly end: () => void
}

export interface UnreadStreams {
  add(unread: Unread): void
  /** Its client has read, or is gone. */
  remove(unread: Unread): void
}

const mostUnreadBytes = 64 * 1024 * 1024

/** Nothing is held yet. */
export function makeUnreadStreams(mostBytes = mostUnreadBytes): UnreadStreams {
  /** In the order in which they began to wait. */
  const waiting = new Set<Unread>()
  let bytes = 0

  function remove(unread: Unread): void {
    if (waiting.delete(unread)) bytes -= unread.bytes
  }

  return {
    add(unread) {
      waiting.add(unread)
      bytes += unread.bytes
      for (const oldest of waiting) {
        if (bytes <= mostBytes) break
        remove(oldest)
        oldest.end()
      }
    },
    remove,
  }
}
