/**
 * The snapshots of this process, with the compressed bodies of their pages, as long as they live. Beyond the
 * bound whole snapshots are let go, the least recently used first. It knows no providers.
 */
import { promisify } from 'node:util'
import { constants, zstdCompress, zstdDecompress } from 'node:zlib'
import { LRUCache } from 'lru-cache'
import type { Clock } from '#kernel/time.ts'
import type { Snapshot } from './snapshot.ts'

const compress = promisify(zstdCompress)
const decompress = promisify(zstdDecompress)

/**
 * A third of the default's CPU for the same size: repetitions are near in a page, and small tables stay in
 * the cache.
 */
const cheap = {
  chunkSize: 32 * 1024,
  params: {
    [constants.ZSTD_c_compressionLevel]: 1,
    [constants.ZSTD_c_windowLog]: 17,
    [constants.ZSTD_c_hashLog]: 14,
  },
}

/** How a compressed body begins (RFC 8878, 3.1.1). No page begins so: what is held was read as JSON. */
const mark = [0x28, 0xb5, 0x2f, 0xfd]
const isPacked = (body: Uint8Array): boolean => mark.every((byte, at) => body[at] === byte)
/** A shorter body stays as it came: a compressor's memory costs more than it saves. */
const leastBytes = 512

/** Compresses the bodies that are not, outside the main thread. Returns those as they came. */
export async function packBodies({ bodies }: HeldSnapshot): Promise<readonly Uint8Array[]> {
  const raw = [...bodies].filter(([, body]) => body.length >= leastBytes && !isPacked(body))
  await Promise.all(raw.map(async ([name, body]) => bodies.set(name, await compress(body, cheap))))
  return raw.map(([, body]) => body)
}

/** The body as it came. */
export const unpack = async (body: Uint8Array): Promise<Uint8Array> =>
  isPacked(body) ? decompress(body) : body

export interface HeldSnapshot {
  readonly snapshot: Snapshot
  /** By the names of their pages; where processes share pages, some may be there only. */
  readonly bodies: Map<string, Uint8Array>
  /** When it may be used no longer, in milliseconds since the epoch. */
  readonly expiresAt: number
  /** Where processes share it: its version there, and the names of its pages that are there (share.ts). */
  version: string | null
  readonly saved: Set<string>
}

export type SnapshotHolder = ReturnType<typeof openHolder>

const sweepEveryMs = 30_000
/** What a row takes beside the body of its page, and a snapshot without rows. */
const [bytesPerRow, bytesPerSnapshot] = [80, 2048]

/**
 * Starts empty. Close it to stop its sweep, which ensures that money data is held no longer than a cached
 * answer.
 */
export function openHolder(options: { readonly maxBytes: number; readonly clock: Clock }) {
  const { maxBytes, clock } = options
  const entries = new LRUCache<string, HeldSnapshot>({
    maxSize: maxBytes,
    // The last one is kept whatever its size.
    sizeCalculation: (held) => Math.min(sizeOf(held), maxBytes),
  })
  const sweeper = setInterval(() => {
    for (const [key, held] of [...entries.entries()]) {
      if (held.expiresAt <= clock.now()) entries.delete(key)
    }
  }, sweepEveryMs).unref()
  return {
    get: (key: string): HeldSnapshot | null => entries.get(key) ?? null,
    /** Must be called after each use, because the snapshot may have grown: it is measured anew. */
    keep(key: string, held: HeldSnapshot): void {
      entries.delete(key)
      entries.set(key, held)
    },
    drop: (key: string) => void entries.delete(key),
    close() {
      clearInterval(sweeper)
      entries.clear()
    },
  }
}

function sizeOf({ bodies, snapshot }: HeldSnapshot): number {
  const rows = snapshot.lists.reduce((sum, list) => sum + list.sums.count, 0)
  let bytes = bytesPerSnapshot + rows * bytesPerRow
  for (const body of bodies.values()) bytes += body.byteLength
  return bytes
}
