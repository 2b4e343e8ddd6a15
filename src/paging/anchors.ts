/**
 * Where anchors are kept: in this process, and where processes share state there too, changed by compare-and-set. An
 * anchor that Redis lost is still known to the process that wrote it.
 */
import type { Clock } from '#kernel/time.ts'
import type { SharedSnapshots } from '#store/ports/kv.ts'
import { type Anchor, isAhead } from './anchor.ts'
import { decode, encode } from './share.ts'

const maxAnchors = 10_000
/** How often a change is tried again because another process changed the anchor first. */
const maxContests = 8

export type Anchors = ReturnType<typeof makeAnchors>

export function makeAnchors(clock: Clock, shared: SharedSnapshots | null) {
  /** The one changed longest ago comes first. */
  const local = new Map<string, Anchor>()
  const toKey = (name: string) => `anchor ${name}`

  async function read(name: string): Promise<{ anchor: Anchor | null; version: string | null }> {
    const own = local.get(name) ?? null
    const found = (await shared?.load(toKey(name), null)) ?? { kind: 'none' }
    if (found.kind !== 'found') return { anchor: toAlive(own), version: null }
    const stored = decode<Anchor>(found.bytes)
    return { anchor: toAlive(stored === null ? own : join(stored, own)), version: found.version }
  }

  /** An anchor of a later time than now is from before the clock was set back. */
  function toAlive(anchor: Anchor | null): Anchor | null {
    const now = clock.now()
    const isAlive = anchor !== null && anchor.expiresAt > now && !isAhead(anchor, now)
    return isAlive ? anchor : null
  }

  return {
    /** The anchor of a query, while it lives. */
    load: async (name: string) => (await read(name)).anchor,
    /** Stores what `change` returns; null: nothing. */
    async update(name: string, change: (anchor: Anchor | null) => Anchor | null): Promise<void> {
      for (let contests = 0; contests < maxContests; contests += 1) {
        const { anchor, version } = await read(name)
        const changed = change(anchor)
        if (changed === null) return
        local.delete(name)
        local.set(name, changed)
        for (const oldest of local.keys()) {
          if (local.size <= maxAnchors) break
          local.delete(oldest)
        }
        if (shared === null) return
        const ttlMs = changed.expiresAt - clock.now()
        const bytes = encode(changed)
        const saved = await shared.save(toKey(name), { expected: version, bytes, ttlMs })
        if (saved.kind !== 'conflict') return
      }
    },
  }
}

/** Where Redis lost an anchor, or was away for a while, the marks that this process has shown still count. */
function join(stored: Anchor, own: Anchor | null): Anchor {
  return own === null ? stored : { ...stored, marks: new Map([...own.marks, ...stored.marks]) }
}
