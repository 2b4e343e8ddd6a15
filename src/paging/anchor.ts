/**
 * What outlives a snapshot: the first row of each list, and for the end of each window that was shown the
 * fingerprint of the rows before it. With it a later snapshot of the same query begins at the same row, and
 * shows whether the rows before a window still are those that were shown. It has no data and no order.
 * Anchors are kept in this process and, where processes share state, there too, changed by compare-and-set.
 * An anchor that was lost there is still known to the process that wrote it.
 */
import { LRUCache } from 'lru-cache'
import type { SharedSnapshots, SnapshotSaving } from '#fast/port.ts'
import type { Print } from '#kernel/fingerprint.ts'
import { type Clock, minuteMs } from '#kernel/time.ts'
import { clockSlackMs, decode, encode } from './place.ts'
import { listFirsts, type Snapshot, type SnapshotFacts } from './snapshot.ts'
import { Trouble } from './trouble.ts'

/** One end of a window that was shown. */
export interface Mark {
  /** The fingerprint of the rows before it. */
  readonly sum: Print
  readonly generation: string
  /** When a reader last stood there, in milliseconds since the epoch. */
  readonly at: number
}

export interface Anchor {
  /** What a later snapshot begins with, the first rows among it. */
  readonly origin: SnapshotFacts
  /** The end of the generation's data (reading R36); Infinity: they were read for the query. */
  readonly goodUntil: number
  /**
   * The time zone and the accounts: with others the rows are not the same. Null: the rows that were shown are
   * not there any more, and only a window at offset 0 begins anew.
   */
  readonly zoneAndAccounts: string | null
  /** By offset, those of earlier generations too: their readers may go on only where nothing has changed. */
  readonly marks: ReadonlyMap<number, Mark>
  readonly expiresAt: number
}

/** A window that is shown. */
export interface Shown {
  readonly zoneAndAccounts: string
  readonly offset: number
  readonly end: number
  readonly now: number
  readonly goodUntil: number
  /** How long a snapshot lives. */
  readonly ttlMs: number
}

/** How long an anchor outlives a snapshot that begins when a window is shown (docs/snapshots.md). */
export const anchorLifeMs = 30 * minuteMs
const maxMarks = 1024

/**
 * The anchor after a window was shown that it does not refuse. Both ends are marked: a cached answer of the
 * window must not meet others that count other rows. Of a window without rows, whose reading ended before the
 * offset (reading R17), the mark of its reader lives on. Null: there is nothing to store.
 * @throws Trouble `changed` where a reader of the newest generation stands at an end with other rows.
 */
export function addMarks(before: Anchor | null, snapshot: Snapshot, shown: Shown): Anchor | null {
  const { zoneAndAccounts, offset, end, now, ttlMs, goodUntil } = shown
  const { generation, generationAt } = snapshot.facts
  const expiresAt = Math.max(now + ttlMs + anchorLifeMs, before?.expiresAt ?? 0)
  const marks = listAlive(before?.marks ?? new Map(), now)
  if (end <= offset) {
    const mark = before?.marks.get(offset)
    if (before === null || mark === undefined) return null
    return { ...before, marks: marks.set(offset, { ...mark, at: now }), expiresAt }
  }
  // A generation that began later stays the one that others continue. Its marks stay too: a late window would
  // refuse its readers otherwise.
  const isLater = before !== null && before.origin.generationAt > generationAt
  for (const at of [offset, end]) {
    const sum = snapshot.sums[at] ?? 0
    const theirs = isLater ? marks.get(at) : undefined
    const isTheirs = theirs?.generation === before?.origin.generation
    // Two readers with different rows would be at one offset, and their requests are the same.
    if (theirs !== undefined && isTheirs && theirs.sum !== sum) {
      throw new Trouble('changed', 'another reader is at this offset')
    }
    if (theirs === undefined || !isTheirs) marks.set(at, { sum, generation, at: now })
  }
  if (isLater) return { ...before, marks, expiresAt }
  const origin = { ...snapshot.facts, firsts: listFirsts(snapshot) }
  return { origin, goodUntil, zoneAndAccounts, marks, expiresAt }
}

/** The newest marks, by when a reader last stood there. */
function listAlive(marks: Anchor['marks'], now: number): Map<number, Mark> {
  const alive = [...marks].filter(([, { at }]) => now - at < 2 * anchorLifeMs)
  return new Map(alive.toSorted(([, one], [, other]) => one.at - other.at).slice(-maxMarks))
}

/** The rows before a window at `offset` that were shown in the snapshot's generation. */
export function countShown(anchor: Anchor | null, { facts }: Snapshot, offset: number): number {
  const own = [...(anchor?.marks ?? [])].filter(([, mark]) => mark.generation === facts.generation)
  return own.reduce((most, [at]) => Math.max(most, Math.min(at, offset)), 0)
}

/**
 * Refuses a window at `offset` that does not continue what was shown.
 * @throws Trouble `changed`, with the generation where its own rows have changed.
 */
export function refuseChanged(anchor: Anchor | null, snapshot: Snapshot, offset: number): void {
  if (anchor === null) return
  const { facts, order, sums } = snapshot
  const refuse = (broken: string | null) => {
    throw new Trouble('changed', 'the rows before the window are others than before', broken)
  }
  const isOwn = (mark: Mark) => mark.generation === facts.generation
  // Rows that were not read yet are compared when they are.
  const changed = [...anchor.marks].filter(([at, { sum }]) =>
    at > order.length ? snapshot.isComplete() : sums[at] !== sum,
  )
  if (changed.some(([, mark]) => isOwn(mark))) refuse(facts.generation)
  const here = anchor.marks.get(offset)
  if (here !== undefined && isOwn(here)) return
  // A reader of an earlier generation goes on only where the rows before the window are those it was shown.
  if (changed.some(([at]) => at <= offset)) refuse(null)
}

/** Marks of all anchors in this process, about 100 bytes each; an anchor without any counts as one. */
const maxLocalMarks = 200_000
/** How often a change is tried that other processes come before. */
const mostAttempts = 8

export function makeAnchors(clock: Clock, shared: SharedSnapshots | null) {
  const local = new LRUCache<string, Anchor>({
    maxSize: maxLocalMarks,
    sizeCalculation: ({ marks }) => marks.size + 1,
  })

  /** An anchor of a later time than now is from before the clock was set back. */
  function toAlive(anchor: Anchor | undefined): Anchor | null {
    const now = clock.now()
    if (anchor === undefined || anchor.expiresAt <= now) return null
    return anchor.origin.generationAt > now + clockSlackMs ? null : anchor
  }

  /** What is stored by another version of this program is no anchor, and cannot be continued. */
  async function read(name: string, offset: number) {
    const own = local.get(name)
    const found = (await shared?.load(name, null)) ?? { kind: 'none' }
    if (found.kind !== 'found') return { anchor: toAlive(own), version: null }
    const { version, bytes } = found
    const stored = decode<Anchor>(bytes)
    if (stored === null && offset > 0) throw new Trouble('changed', 'the anchor cannot be read')
    if (stored === null) return { anchor: null, version }
    // The marks of what this process has shown count, also where they were lost or could not be stored.
    const marks = new Map([...(own?.marks ?? []), ...stored.marks])
    return { anchor: toAlive({ ...stored, marks }), version }
  }

  return {
    /** The anchor of a query, while it lives. @throws Trouble `changed` where it cannot be continued. */
    load: async (name: string, offset: number) => (await read(name, offset)).anchor,
    /** Stores what `change` returns; null: nothing. Where not `saved`, other processes do not know it. */
    async update(
      name: string,
      change: (anchor: Anchor | null) => Anchor | null,
    ): Promise<SnapshotSaving['kind']> {
      for (let attempt = 0; attempt < mostAttempts; attempt += 1) {
        const { anchor, version } = await read(name, 0)
        const changed = change(anchor)
        if (changed === null) return 'saved'
        local.set(name, changed)
        if (shared === null) return 'saved'
        const ttlMs = changed.expiresAt - clock.now()
        const saved = await shared.save(name, { expected: version, bytes: encode(changed), ttlMs })
        if (saved.kind !== 'conflict') return saved.kind
      }
      return 'conflict'
    },
  }
}
