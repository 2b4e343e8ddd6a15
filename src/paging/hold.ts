/**
 * The snapshots of this process, with the bodies of their pages, as long as they live. Beyond the bound the bodies of
 * the snapshots used least are compressed, and only then whole snapshots are let go. It knows no providers.
 */
import { promisify } from 'node:util'
import { zstdCompress, zstdDecompress } from 'node:zlib'
import type { Clock } from '#kernel/time.ts'
import type { Snapshot } from './snapshot.ts'

const compress = promisify(zstdCompress)
const decompress = promisify(zstdDecompress)

/** How a compressed body begins (RFC 8878, 3.1.1). No page begins so: what is held was read as JSON. */
const mark = [0x28, 0xb5, 0x2f, 0xfd]
/** Smaller bodies are not worth compressing. */
const leastBytes = 1024

const isPacked = (body: Uint8Array): boolean => mark.every((byte, at) => body[at] === byte)
const canPack = (body: Uint8Array): boolean => body.length >= leastBytes && !isPacked(body)

/** The body of a page, compressed where that helps. The work is done outside the main thread. */
export const pack = async (body: Uint8Array): Promise<Uint8Array> =>
  canPack(body) ? compress(body) : body

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
const maxSnapshots = 10_000
/** What a row takes beside the body of its page, and a snapshot without rows. */
const [bytesPerRow, bytesPerSnapshot] = [80, 2048]

/** Starts empty. Close it to stop its sweep, which ensures that money data is held no longer than a cached answer. */
export function openHolder(options: { readonly maxBytes: number; readonly clock: Clock }) {
  const { maxBytes, clock } = options
  /** The least recently used first. */
  const entries = new Map<string, { readonly held: HeldSnapshot; readonly bytes: number }>()
  let total = 0
  let isPacking = false

  function drop(key: string): void {
    total -= entries.get(key)?.bytes ?? 0
    entries.delete(key)
  }

  /** A snapshot that is there already keeps its place in the order. */
  function measure(key: string, held: HeldSnapshot): void {
    const bytes = sizeOf(held)
    total += bytes - (entries.get(key)?.bytes ?? 0)
    entries.set(key, { held, bytes })
  }

  function keep(key: string, held: HeldSnapshot): void {
    drop(key)
    measure(key, held)
    // Compression takes a while: memory is bounded meanwhile too.
    while (entries.size > 1 && (total > 2 * maxBytes || entries.size > maxSnapshots)) dropOldest()
    if (total > maxBytes && !isPacking) void makeRoom()
  }

  const dropOldest = () => drop([...entries.keys()][0] ?? '')

  async function packEntry(key: string, held: HeldSnapshot): Promise<void> {
    await packAll(held)
    // The snapshot may have been kept again meanwhile, with another size, or dropped.
    if (entries.get(key)?.held === held) measure(key, held)
  }

  async function makeRoom(): Promise<void> {
    isPacking = true
    try {
      while (total > maxBytes) {
        const unpacked = [...entries].find(([, { held }]) => listUnpacked(held).length > 0)
        if (unpacked === undefined) dropOldest()
        else await packEntry(unpacked[0], unpacked[1].held)
      }
    } finally {
      isPacking = false
    }
  }

  const sweeper = setInterval(() => {
    for (const [key, { held }] of [...entries]) if (held.expiresAt <= clock.now()) drop(key)
  }, sweepEveryMs).unref()

  return {
    get(key: string): HeldSnapshot | null {
      const entry = entries.get(key)
      if (entry === undefined) return null
      entries.delete(key)
      entries.set(key, entry)
      return entry.held
    },
    /** Must be called after each use, because the snapshot may have grown. */
    keep,
    drop,
    close() {
      clearInterval(sweeper)
      entries.clear()
      total = 0
    },
  }
}

async function packAll(held: HeldSnapshot): Promise<void> {
  for (const [name, body] of listUnpacked(held)) held.bodies.set(name, await pack(body))
}

const listUnpacked = ({ bodies }: HeldSnapshot) => [...bodies].filter(([, body]) => canPack(body))

function sizeOf({ bodies, snapshot }: HeldSnapshot): number {
  const rows = snapshot.lists.reduce((sum, list) => sum + list.sums.count, 0)
  let bytes = bytesPerSnapshot + rows * bytesPerRow
  for (const body of bodies.values()) bytes += body.byteLength
  return bytes
}
