/**
 * What outlives a snapshot: the first row of each list, and for the end of each window that was shown the fingerprint of
 * the rows before it. With it a later snapshot of the same query begins at the same row, and shows whether the rows
 * before a window still are those that were shown. It has no data and no order.
 *
 * Anchors are kept in this process and, where processes share state, there too, changed by compare-and-set. An anchor
 * that Redis lost is still known to the process that wrote it.
 */
import type { SharedSnapshots } from '#fast/port.ts'
import type { Clock } from '#kernel/time.ts'
import { isSamePrint, makeSeed, type Print } from './fingerprint.ts'
import { decode, encode } from './share.ts'
import { type First, type Generation, listFirsts, type Snapshot } from './snapshot.ts'
import { Trouble } from './trouble.ts'

/** One end of a window that was shown. */
export interface Mark {
  readonly print: Print
  readonly generation: string
  /** When a reader last stood there, in milliseconds since the epoch. */
  readonly at: number
}

export interface Anchor extends Generation {
  readonly firsts: readonly First[]
  /** The time zone and the accounts: with others the rows are not the same. */
  readonly facts: string
  /** The rows that were shown are not there any more: only a window at offset 0 begins anew. */
  readonly isBroken: boolean
  /** By offset, those of earlier generations too: their readers may go on only where nothing has changed. */
  readonly marks: ReadonlyMap<number, Mark>
  readonly expiresAt: number
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
 * The anchor after a window of the snapshot was shown. Both ends are marked: a cached answer of the window must not meet
 * others that count other rows.
 */
export function addMark(
  before: Anchor | null,
  shown: {
    readonly snapshot: Snapshot
    readonly facts: string
    readonly ends: readonly number[]
    readonly now: number
    readonly ttlMs: number
  },
): Anchor {
  const { snapshot, facts, ends, now, ttlMs } = shown
  const { generation, generationAt } = snapshot.facts
  const expiresAt = Math.max(now + ttlMs + anchorLifeMs, before?.expiresAt ?? 0)
  const added = ends.map((end): [number, Mark] => [
    end,
    { print: snapshot.printBefore(end), generation, at: now },
  ])
  // A generation that began later stays the one that others continue.
  const isLater = before !== null && before.generationAt > generationAt
  const isBroken = before?.generation === generation && before.isBroken
  const earlier = [...(before?.marks ?? [])]
  // Otherwise a late window would refuse the readers of that generation for as long as its mark lives.
  const marks = new Map(isLater ? [...added, ...earlier] : [...earlier, ...added])
  const base = isLater
    ? before
    : { ...snapshot.facts, firsts: listFirsts(snapshot), facts, isBroken }
  return {
    ...base,
    marks: trim(marks, base.generation, now),
    expiresAt,
  }
}

/**
 * The anchor after a window without rows, whose reading ended before the offset (reading R17): its reader still stands
 * there, so the mark lives on. Null: there is none.
 */
export function keepMark(
  anchor: Anchor | null,
  offset: number,
  { now, ttlMs }: { readonly now: number; readonly ttlMs: number },
): Anchor | null {
  const mark = anchor?.marks.get(offset)
  if (anchor === null || mark === undefined) return null
  return {
    ...anchor,
    marks: new Map([...anchor.marks, [offset, { ...mark, at: now }]]),
    expiresAt: Math.max(anchor.expiresAt, now + ttlMs + anchorLifeMs),
  }
}

/** Beyond the bound every second mark goes; the marks around a gap still tell whether the rows in it changed. */
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

/** The rows of the generation that were shown before a window at `offset`, at least. */
export function countShown({ generation, marks }: Anchor, offset: number): number {
  const offsets = [...marks].flatMap(([at, mark]) => (mark.generation === generation ? [at] : []))
  const above = offsets.filter((at) => at >= offset)
  return above.length > 0 ? Math.min(...above) : Math.max(0, ...offsets)
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
  if (isBroken && anchor.generation === generation) refuse(null)
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
  // A reader of an earlier generation goes on only where the rows before the window are those that it was shown.
  if ([...nearest.values()].some(([, isSame]) => !isSame)) refuse(null)
}

/** Marks of all anchors in this process, of about 100 bytes each; an anchor without a window counts as one. */
const maxLocalMarks = 200_000
/** How often a change is tried again because another process changed the anchor first. */
const maxContests = 8

export type Anchors = ReturnType<typeof makeAnchors>

export function makeAnchors(clock: Clock, shared: SharedSnapshots | null) {
  /** The one changed longest ago comes first. */
  const local = new Map<string, Anchor>()
  let localMarks = 0

  function forget(name: string): void {
    const anchor = local.get(name)
    if (anchor !== undefined) localMarks -= anchor.marks.size + 1
    local.delete(name)
  }

  async function read(name: string): Promise<{ anchor: Anchor | null; version: string | null }> {
    const own = local.get(name) ?? null
    const found = (await shared?.load(name, null)) ?? { kind: 'none' }
    if (found.kind !== 'found') return { anchor: toAlive(own), version: null }
    const { version } = found
    const stored = decode<Anchor>(found.bytes)
    if (stored === null) return { anchor: makeUnreadable(), version }
    return { anchor: toAlive(join(stored, own)), version }
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
    /**
     * Stores what `change` returns; null: nothing. False: other processes do not know it.
     * @throws Trouble `contested`
     */
    async update(name: string, change: (anchor: Anchor | null) => Anchor | null): Promise<boolean> {
      for (let contests = 0; contests < maxContests; contests += 1) {
        const { anchor, version } = await read(name)
        const changed = change(anchor)
        if (changed === null) return true
        forget(name)
        local.set(name, changed)
        localMarks += changed.marks.size + 1
        for (const oldest of local.keys()) {
          if (localMarks <= maxLocalMarks || oldest === name) break
          forget(oldest)
        }
        if (shared === null) return true
        const ttlMs = changed.expiresAt - clock.now()
        const bytes = encode(changed)
        const saved = await shared.save(name, { expected: version, bytes, ttlMs })
        if (saved.kind !== 'conflict') return saved.kind === 'saved'
      }
      throw new Trouble('contested', 'other processes changed the anchor')
    },
  }
}

/** Of another layout, by a process of another version: only a window at offset 0 begins anew. */
const makeUnreadable = (): Anchor => ({
  generation: '',
  generationEpoch: 0,
  generationAt: 0,
  seed: makeSeed(),
  window: { from: null, to: null },
  firsts: [],
  facts: '',
  isBroken: true,
  marks: new Map(),
  expiresAt: 0,
})

/** Where Redis lost an anchor, or was away for a while, the marks that this process has shown still count. */
function join(stored: Anchor, own: Anchor | null): Anchor {
  return own === null ? stored : { ...stored, marks: new Map([...own.marks, ...stored.marks]) }
}
