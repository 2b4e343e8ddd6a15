/**
 * What is remembered of the pending rows of an account: keyed fingerprints, ten days at most, and no data
 * (reading R39, decision 23). It is kept in this process and, where processes share state, sealed there too,
 * changed by compare-and-set. What was lost is not known any more: then nothing is claimed.
 */
import { createHmac } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { SharedSnapshots } from '#fast/port.ts'
import { makeQueue } from '#kernel/queue.ts'
import type { Clock } from '#kernel/time.ts'
import { decode, encode } from '#paging/place.ts'
import { makePendingId, type PendingOwner } from '#providers/row-identity.ts'
import { emptyMemory, memoryLifeMs, type PendingMemory, type TextPrint } from './match-pending.ts'

export interface PendingMemories {
  load(owner: PendingOwner): Promise<PendingMemory>
  /** Changes of one account are made one after another. Returns what `change` made. */
  update(
    owner: PendingOwner,
    change: (memory: PendingMemory) => PendingMemory,
  ): Promise<PendingMemory>
  /** The fingerprint of a text of this account; `kind` keeps texts of different meaning apart. */
  print(owner: PendingOwner, kind: string, text: string): TextPrint
  /** The id of the pending row that is known by this key. */
  idOf(owner: PendingOwner, key: string): string
}

/** Rows of all accounts in this process, of about 300 bytes each; an account without any counts as one. */
const maxRows = 100_000
/** How often a change is tried that other processes come before. */
const mostAttempts = 8
/** 96 bits of the digest. */
const printLength = 16

/** @param options `key`: 32 bytes; `shared` null: no other process shares it. */
export function openPendingMemories(options: {
  readonly key: Uint8Array
  readonly clock: Clock
  readonly shared: SharedSnapshots | null
}): PendingMemories {
  const { key, clock, shared } = options
  const queue = makeQueue()
  const own = new LRUCache<string, PendingMemory>({
    maxSize: maxRows,
    sizeCalculation: ({ seen, settled }) => Math.min(seen.length + settled.length + 1, maxRows),
    ttl: memoryLifeMs,
    ttlResolution: 0,
    perf: clock,
  })

  async function read(name: string) {
    const found = (await shared?.load(name, null)) ?? { kind: 'none' }
    if (found.kind !== 'found') return { memory: own.get(name) ?? emptyMemory, version: null }
    return { memory: decode<PendingMemory>(found.bytes) ?? emptyMemory, version: found.version }
  }

  async function update(name: string, change: (memory: PendingMemory) => PendingMemory) {
    for (let attempt = 1; ; attempt += 1) {
      const { memory, version } = await read(name)
      const changed = change(memory)
      const isNothing = changed.seen.length + changed.settled.length === 0
      if (isNothing && version === null) {
        own.delete(name)
        return changed
      }
      own.set(name, changed)
      const value = { expected: version, bytes: encode(changed), ttlMs: memoryLifeMs }
      const saved = await shared?.save(name, value)
      // What could not be saved is seen again at the next read.
      if (saved?.kind !== 'conflict' || attempt === mostAttempts) return changed
    }
  }

  return {
    load: async (owner) => (await read(nameOf(owner))).memory,
    update: (owner, change) => queue.take(nameOf(owner), () => update(nameOf(owner), change)),
    idOf: (owner, text) => makePendingId(key, owner, text),
    print({ userId, accountId }, kind, text) {
      const content = JSON.stringify([userId, accountId, kind, text])
      return createHmac('sha256', key).update(content).digest('base64url').slice(0, printLength)
    },
  }
}

const nameOf = ({ userId, accountId }: PendingOwner): string => `pending ${userId} ${accountId}`
