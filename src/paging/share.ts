/**
 * Shares a snapshot among processes: its pages without bodies in one value that only grows, and each body
 * under a name of its own. Of two processes that read a page, the first to save it wins, and the other uses
 * that one. While Redis is unavailable a snapshot stays in its process. What is shared is sealed where it
 * rests.
 */
import { deserialize, serialize } from 'node:v8'
import type { CacheStore, SharedSnapshots } from '#fast/port.ts'
import type { HeldSnapshot } from './hold.ts'
import { makeSnapshot, type SnapshotFacts, type SnapshotPage } from './snapshot.ts'

export interface SharedPlace {
  readonly snapshots: SharedSnapshots
  /** On a server that evicts nothing. */
  readonly anchors: SharedSnapshots
  /** The bodies of pages. */
  readonly bodies: Pick<CacheStore, 'get' | 'set'>
}

interface StoredSnapshot {
  readonly facts: SnapshotFacts
  readonly expiresAt: number
  readonly lists: readonly (readonly SnapshotPage[])[]
}

export interface Loaded {
  readonly held: HeldSnapshot | null
  /** What a save must expect to find. */
  readonly version: string | null
}

export type Sharing = ReturnType<typeof makeSharing>

export function makeSharing({ snapshots, bodies }: SharedPlace) {
  return {
    /** The snapshot under the key as it is now. `own`: what this process holds. */
    async load(key: string, own: HeldSnapshot | null, now: number): Promise<Loaded> {
      const found = await snapshots.load(key, own?.version ?? null)
      if (found.kind === 'none') {
        own?.saved.clear()
        if (own !== null) own.version = null
      }
      if (found.kind !== 'found') return { held: own, version: own?.version ?? null }
      const { version } = found
      const stored = decode<StoredSnapshot>(found.bytes)
      if (stored === null || stored.expiresAt <= now) return { held: null, version }
      return { held: toHeld(stored, version, own), version }
    },

    /** False: another process saved first; load it. */
    async save(key: string, owner: string, held: HeldSnapshot, now: number): Promise<boolean> {
      const lists = held.snapshot.lists.map(({ pages }) => pages)
      const fresh = lists.flat().filter(({ name }) => !held.saved.has(name))
      if (fresh.length === 0) return true
      const { expiresAt, version } = held
      const ttlMs = expiresAt - now
      const isStored = await Promise.all(
        fresh.map(async ({ name }) => {
          const body = held.bodies.get(name)
          if (body === undefined) return false
          const answer = { body, truncated: false }
          return bodies.set(nameBody(owner, name), answer, ttlMs, owner)
        }),
      )
      // With a body that cannot be shared the pages from there on stay in this process.
      if (isStored.includes(false)) return true
      const stored: StoredSnapshot = { facts: held.snapshot.facts, expiresAt, lists }
      const result = await snapshots.save(key, { expected: version, bytes: encode(stored), ttlMs })
      if (result.kind !== 'saved') return result.kind !== 'conflict'
      for (const { name } of fresh) held.saved.add(name)
      held.version = result.version
      return true
    },

    async loadBody(owner: string, name: string): Promise<Uint8Array | null> {
      const found = await bodies.get(nameBody(owner, name))
      return found.kind === 'hit' ? found.answer.body : null
    },
  }
}

const nameBody = (owner: string, name: string) => `page:{${owner}}:${name}`

function toHeld(
  { facts, lists, expiresAt }: StoredSnapshot,
  version: string,
  own: HeldSnapshot | null,
): HeldSnapshot {
  const saved = new Set(lists.flat().map(({ name }) => name))
  const bodies = new Map([...(own?.bodies ?? [])].filter(([name]) => saved.has(name)))
  return { snapshot: makeSnapshot(facts, lists), bodies, expiresAt, version, saved }
}

/** Changes with every change of a stored shape: bytes of another layout are ignored. */
const layout = 3

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
