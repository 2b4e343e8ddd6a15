/**
 * What outlives a snapshot: the first row of each list, and for the end of each window that was shown the
 * fingerprint of the rows before it. With it a later snapshot of the same query begins at the same row, and
 * shows whether the rows before a window still are those that were shown. It has no data and no order.
 *
 * Anchors are kept in this process and, where processes share state, there too, changed by compare-and-set.
 * An anchor that was lost there is still known to the process that wrote it.
 */
import { LRUCache } from 'lru-cache'
import type { SharedSnapshots, SnapshotSaving } from '#fast/port.ts'
import type { Clock } from '#kernel/time.ts'
import { isSamePrint, type Print } from './fingerprint.ts'
import { decode, encode } from './share.ts'
import { type Generation, listFirsts, type Snapshot, type SnapshotFacts } from './snapshot.ts'
import { mostTimes, Trouble } from './trouble.ts'

/** One end of a window that was shown. */
export interface Mark {
  readonly print: Print
  readonly generation: string
  /** When a reader last stood there, in milliseconds since the epoch. */
  readonly at: number
}

export interface Anchor {
  /** What a later snapshot begins with, the first rows among it. */
  readonly begun: SnapshotFacts
  /** The time zone and the accounts: with others the rows are not the same. */
  readonly facts: string
  /** The rows that were shown are not there any more: only a window at offset 0 begins anew. */
  readonly isBroken: boolean
  /** By offset, those of earlier generations too: their readers may go on only where nothing has changed. */
  readonly marks: ReadonlyMap<number, Mark>
  readonly expiresAt: number
}

/** A window that is shown. */
export interface Shown {
  readonly snapshot: Snapshot
  readonly facts: string
  readonly offset: number
  readonly end: number
  readonly now: number
  /** How long a snapshot lives. */
  readonly ttlMs: number
}

/** How long an anchor outlives a snapshot that begins when a window is shown (docs/snapshots.md). */
export const anchorLifeMs = 30 * 60_000
const maxMarks = 1024
/** Clocks that differ by less, or are set back by less, change nothing. */
const clockSlackMs = 60_000

/** True for a generation that began later than now: the clock was set back. */
export const isAhead = ({ generationAt }: Generation, now: number): boolean =>
  generationAt > now + clockSlackMs

/**
 * The anchor after a window was shown. Both ends are marked: a cached answer of the window must not meet
 * others that count other rows. Of a window without rows, whose reading ended before the offset (reading
 * R17), the mark of its reader lives on. Null: there is nothing to store.
 */
export function addMarks(before: Anchor | null, shown: Shown): Anchor | null {
  const { snapshot, facts, offset, end, now, ttlMs } = shown
  const { generation, generationAt } = snapshot.facts
  const expiresAt = Math.max(now + ttlMs + anchorLifeMs, before?.expiresAt ?? 0)
  const earlier = [...(before?.marks ?? [])]
  if (end <= offset) {
    const mark = before?.marks.get(offset)
    if (before === null || mark === undefined) return null
    return { ...before, marks: new Map([...earlier, [offset, { ...mark, at: now }]]), expiresAt }
  }
  const added = [offset, end].map((at): [number, Mark] => [
    at,
    { print: snapshot.printBefore(at), generation, at: now },
  ])
  // A generation that began later stays the one that others continue. Its marks stay too: a late window would
  // refuse its readers otherwise.
  const isLater = before !== null && before.begun.generationAt > generationAt
  const isBroken = before?.begun.generation === generation && before.isBroken
  const begun = { ...snapshot.facts, firsts: listFirsts(snapshot) }
  const base = isLater ? before : { begun, facts, isBroken }
  const marks = new Map(isLater ? [...added, ...earlier] : [...earlier, ...added])
  return { ...base, marks: trim(marks, base.begun.generation, now), expiresAt }
}

/**
 * Beyond the bound every second mark goes; the marks around a gap still tell whether the rows in it changed.
 */
function trim(
  marks: ReadonlyMap<number, Mark>,
  generation: string,
  now: number,
): ReadonlyMap<number, Mark> {
  const alive = [...marks].filter(([, { at }]) => now - at < 2 * anchorLifeMs)
  if (alive.length <= maxMarks) return new Map(alive)
  const sorted = alive.toSorted(([one], [other]) => one - other)
  const last = sorted.findLastIndex(([, mark]) => mark.generation === generation)
  return new Map(sorted.filter((_mark, index) => index % 2 === 1 || index === last))
}

/** The rows before a window at `offset` that were shown in the snapshot's generation. */
export function countShown(anchor: Anchor | null, { facts }: Snapshot, offset: number): number {
  let shown = 0
  for (const [at, { generation }] of anchor?.marks ?? []) {
    if (generation === facts.generation) shown = Math.max(shown, Math.min(at, offset))
  }
  return shown
}

/**
 * Refuses a window at `offset` that does not continue what was shown.
 * @throws Trouble `changed`, with the generation where its own rows have changed.
 */
export function refuseChanged(anchor: Anchor | null, snapshot: Snapshot, offset: number): void {
  if (anchor === null) return
  const { marks, isBroken } = anchor
  const { generation } = snapshot.facts
  const [counted, isComplete] = [snapshot.count(), snapshot.isComplete()]
  const refuse = (broken: string | null) => {
    throw new Trouble('changed', 'the rows before the window are others than before', broken)
  }
  if (isBroken && anchor.begun.generation === generation) refuse(null)
  // Of each generation the mark nearest to the window.
  const nearest = new Map<string, readonly [number, boolean]>()
  for (const [at, mark] of marks) {
    // Rows that were not read yet are compared when they are.
    const isSame = at > counted ? !isComplete : isSamePrint(snapshot.printBefore(at), mark.print)
    if (!isSame && mark.generation === generation) refuse(generation)
    const [before = -1] = nearest.get(mark.generation) ?? []
    if (at <= offset && at > before) nearest.set(mark.generation, [at, isSame])
  }
  if (marks.get(offset)?.generation === generation) return
  // A reader of an earlier generation goes on only where the rows before the window are those that it was
  // shown.
  if ([...nearest.values()].some(([, isSame]) => !isSame)) refuse(null)
}

/**
 * Marks of all anchors in this process, of about 100 bytes each; an anchor without a window counts as one.
 */
const maxLocalMarks = 200_000

export type Anchors = ReturnType<typeof makeAnchors>

export function makeAnchors(clock: Clock, shared: SharedSnapshots | null) {
  const local = new LRUCache<string, Anchor>({
    maxSize: maxLocalMarks,
    sizeCalculation: ({ marks }) => marks.size + 1,
  })

  /** An anchor of a later time than now is from before the clock was set back. */
  function toAlive(anchor: Anchor | null): Anchor | null {
    const now = clock.now()
    const isAlive = anchor !== null && anchor.expiresAt > now && !isAhead(anchor.begun, now)
    return isAlive ? anchor : null
  }

  async function read(name: string) {
    const own = local.get(name) ?? null
    const found = (await shared?.load(name, null)) ?? { kind: 'none' }
    if (found.kind !== 'found') return { anchor: toAlive(own), version: null, isReadable: true }
    const { version, bytes } = found
    const stored = decode<Anchor>(bytes)
    if (stored === null) return { anchor: null, version, isReadable: false }
    // Where it was lost, or could not be stored for a while, the marks that this process has shown still
    // count.
    const marks = new Map([...(own?.marks ?? []), ...stored.marks])
    return { anchor: toAlive({ ...stored, marks }), version, isReadable: true }
  }

  return {
    /**
     * The anchor of a query, while it lives.
     * @throws Trouble `changed` for an offset above 0 where another version of this program wrote it.
     */
    async load(name: string, offset: number): Promise<Anchor | null> {
      const { anchor, isReadable } = await read(name)
      if (isReadable || offset === 0) return anchor
      throw new Trouble('changed', 'the anchor cannot be read')
    },
    /**
     * Stores what `change` returns; null: nothing. Where it is not `saved`, other processes do not know it.
     */
    async update(
      name: string,
      change: (anchor: Anchor | null) => Anchor | null,
    ): Promise<SnapshotSaving['kind']> {
      for (let attempt = 0; attempt < mostTimes.contested; attempt += 1) {
        const { anchor, version } = await read(name)
        const changed = change(anchor)
        if (changed === null) return 'saved'
        local.set(name, changed)
        if (shared === null) return 'saved'
        const ttlMs = changed.expiresAt - clock.now()
        const bytes = encode(changed)
        const saved = await shared.save(name, { expected: version, bytes, ttlMs })
        if (saved.kind !== 'conflict') return saved.kind
      }
      return 'conflict'
    },
  }
}
