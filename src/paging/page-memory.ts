/**
 * Bounds the bytes of page bodies over all walks. Above the bound, the least recently used walk evicts the page that
 * it needs least; an evicted body can be fetched again. The bodies are money data and stay in memory only.
 */
import type { PageCursor } from '#providers/port.ts'
import { releaseBytes } from '#providers/release-bytes.ts'

export interface HeldPage<Page> {
  readonly cursor: PageCursor | null
  /** The number of the page in its stream. */
  page: number
  body: Uint8Array
  /** Set only while a request reads or shows the page; such a page is never evicted. */
  parsed: Page | null
  /** True when the table has the current places of this page's rows. */
  isLookedUp: boolean
  /** The first row of the table on this page; -1 when there is none, or when it was not looked up. */
  firstRow: number
}

export interface PageHolder {
  /** Evicts the least needed page; returns its bytes, 0 when nothing can be evicted. */
  release(): number
}

export interface PageMemory {
  /**
   * Adds to the held bytes (negative: subtracts). Above the bound, other holders' pages are evicted first, then this
   * one's.
   */
  add(holder: PageHolder, bytes: number): void
  /** Marks the holder as recently used. */
  touch(holder: PageHolder): void
  /** Removes a holder that holds nothing any more. */
  leave(holder: PageHolder): void
  /** Bytes held in total. */
  size(): number
}

/** Starts with no holder. */
export function makePageMemory(maxBytes: number): PageMemory {
  /** In order of use, the least recent first. */
  const holders = new Map<PageHolder, number>()
  let total = 0

  function change(holder: PageHolder, bytes: number): void {
    const left = (holders.get(holder) ?? 0) + bytes
    if (left > 0) holders.set(holder, left)
    else holders.delete(holder)
    total += bytes
  }

  function evictPages(): void {
    for (const holder of [...holders.keys()]) {
      while (total > maxBytes) {
        const bytes = holder.release()
        if (bytes === 0) break
        change(holder, -bytes)
      }
      if (total <= maxBytes) return
    }
  }

  return {
    add(holder, bytes) {
      change(holder, bytes)
      if (bytes >= 0 && total > maxBytes) evictPages()
    },
    touch(holder) {
      const bytes = holders.get(holder)
      if (bytes === undefined) return
      holders.delete(holder)
      holders.set(holder, bytes)
    },
    leave(holder) {
      change(holder, -(holders.get(holder) ?? 0))
    },
    size: () => total,
  }
}

/** Frees the body and its parsed form; returns the size of the body. */
export function emptyPage(held: HeldPage<unknown>): number {
  const { length } = held.body
  releaseBytes(held.body)
  held.parsed = null
  return length
}
