/**
 * Where snapshots are held: in this process, as long as they live, where beyond the bound whole snapshots are
 * let go, the least recently used first; and with Redis for all processes, the pages without bodies in one
 * value that only grows, and each body under a name of its own. Of two processes that read a page, the first
 * to save it wins, and the other uses that one. While Redis is unavailable a snapshot stays in its process.
 * What is shared is sealed where it rests.
 */
import { deserialize, serialize } from 'node:v8'
import { LRUCache } from 'lru-cache'
import type { CacheStore, SharedSnapshots } from '#fast/port.ts'
import { type Clock, minuteMs } from '#kernel/time.ts'
import { endOf, type HeldSnapshot, sizeOf } from './held-snapshot.ts'
import { makeSnapshot, type SnapshotFacts, type SnapshotPage } from './snapshot.ts'

export interface SharedPlace {
  readonly snapshots: SharedSnapshots
  /** They lie on a server that evicts nothing. */
  readonly anchors: SharedSnapshots
  /** The bodies of pages. */
  readonly bodies: Pick<CacheStore, 'get' | 'set'>
}

interface StoredSnapshot {
  readonly facts: SnapshotFacts
  readonly expiresAt: number
  readonly lists: readonly (readonly SnapshotPage[])[]
}

/** Clocks that differ by less, or are set back by less, change nothing. */
export const clockSlackMs = minuteMs

export type Place = ReturnType<typeof openPlace>

/** @param options `maxBytes` bounds the pages in memory; `shared` null: no other process shares them. */
export function openPlace(options: {
  readonly maxBytes: number
  readonly clock: Clock
  readonly shared: SharedPlace | null
}) {
  const { maxBytes, clock, shared } = options
  const own = new LRUCache<string, HeldSnapshot>({
    maxSize: maxBytes,
    // The last one is kept whatever its size.
    sizeCalculation: (held) => Math.min(sizeOf(held), maxBytes),
    ttlAutopurge: true,
    ttlResolution: 0,
    perf: clock,
  })
  /** Must be called after each use, because the snapshot may have grown: it is measured anew. */
  function keep(key: string, held: HeldSnapshot): void {
    own.delete(key)
    const ttl = Math.max(1, endOf(held, held.snapshot.listPages()) - clock.now())
    own.set(key, held, { ttl })
  }
  return {
    own,
    keep,
    /** The snapshot under the key as it is now, while it lives, and the version that a save expects. */
    async load(key: string, ttlMs: number) {
      const now = clock.now()
      // More time left than a whole life means that the clock was set back since it began.
      const isAlive = ({ expiresAt }: { expiresAt: number }, lists: StoredSnapshot['lists']) =>
        endOf({ expiresAt }, lists) > now && expiresAt <= now + ttlMs + clockSlackMs
      const last = own.get(key)
      const held = last !== undefined && isAlive(last, last.snapshot.listPages()) ? last : null
      const found = (await shared?.snapshots.load(key, held?.version ?? null)) ?? { kind: 'none' }
      if (found.kind === 'none' && held !== null) {
        held.saved.clear()
        held.version = null
      }
      if (found.kind !== 'found') return { held, version: held?.version ?? null }
      const { version, bytes } = found
      const stored = decode<StoredSnapshot>(bytes)
      if (stored === null || !isAlive(stored, stored.lists)) return { held: null, version }
      return { held: toHeld(stored, version, held), version }
    },

    /** False: another process saved first; load it. */
    async save(key: string, owner: string, held: HeldSnapshot): Promise<boolean> {
      const ttlMs = Math.max(1, endOf(held, held.snapshot.listPages()) - clock.now())
      if (shared !== null && !(await share(shared, { key, owner, held, ttlMs }))) return false
      keep(key, held)
      return true
    },

    /** The body of a page; null: it is gone. */
    async loadBody(owner: string, name: string): Promise<Uint8Array | null> {
      const found = await shared?.bodies.get(nameBody(owner, name))
      return found?.kind === 'hit' ? found.answer.body : null
    },
  }
}

const nameBody = (owner: string, name: string) => `page:{${owner}}:${name}`

async function share(
  { snapshots, bodies }: SharedPlace,
  given: { key: string; owner: string; held: HeldSnapshot; ttlMs: number },
): Promise<boolean> {
  const { key, owner, held, ttlMs } = given
  const { facts, listTrusted } = held.snapshot
  const lists = listTrusted()
  const fresh = lists.flat().filter(({ name }) => !held.saved.has(name))
  if (fresh.length === 0) return true
  const isStored = await Promise.all(
    fresh.map(async ({ name }) => {
      const body = held.bodies.get(name)
      if (body === undefined) return false
      return bodies.set(nameBody(owner, name), { body, truncated: false }, ttlMs, owner)
    }),
  )
  // With a body that cannot be shared the new pages stay in this process.
  if (isStored.includes(false)) return true
  const bytes = encode({ facts, expiresAt: held.expiresAt, lists } satisfies StoredSnapshot)
  const result = await snapshots.save(key, { expected: held.version, bytes, ttlMs })
  if (result.kind !== 'saved') return result.kind !== 'conflict'
  for (const { name } of fresh) held.saved.add(name)
  held.version = result.version
  return true
}

function toHeld(
  { facts, lists, expiresAt }: StoredSnapshot,
  version: string,
  own: HeldSnapshot | null,
): HeldSnapshot {
  const saved = new Set(lists.flat().map(({ name }) => name))
  const bodies = new Map([...(own?.bodies ?? [])].filter(([name]) => saved.has(name)))
  return { snapshot: makeSnapshot(facts, lists), bodies, expiresAt, readAt: 0, version, saved }
}

/** Changes with every change of a stored shape: bytes of another layout are ignored. */
const layout = 7

export const encode = (value: object): Uint8Array => serialize({ layout, value })

/** Null for bytes of another layout, or of a runtime that this one cannot read. */
export function decode<Value>(bytes: Uint8Array): Value | null {
  try {
    const found: { layout?: unknown; value?: unknown } = deserialize(bytes)
    return found?.layout === layout ? (found.value as Value) : null
  } catch {
    return null
  }
}
