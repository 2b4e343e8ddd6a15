/**
 * What outlives a snapshot: the first row of each list, and for the end of each window that was shown the fingerprint of
 * the rows before it. With it a later snapshot of the same query begins at the same row, and shows whether the rows
 * before a window still are those that were shown. It has no data and no order.
 */
import { isSamePrint, type Print } from './fingerprint.ts'
import { type First, type Generation, listFirsts, type Snapshot } from './snapshot.ts'

/** One end of a window that was shown. */
export interface Mark {
  readonly print: Print
  readonly generation: string
  /** When it was shown, in milliseconds since the epoch. */
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

/** How long an anchor outlives its snapshot (docs/snapshots.md). */
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
    readonly expiresAt: number
  },
): Anchor {
  const { snapshot, facts, ends, now } = shown
  const { generation, generationAt } = snapshot.facts
  const expiresAt = Math.max(shown.expiresAt + anchorLifeMs, before?.expiresAt ?? 0)
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
 * Whether a window at `offset` continues what was shown. `changed`: it was shown from other rows; `broken`: the rows of
 * this generation themselves have changed.
 */
export function compare(
  { marks }: Anchor,
  snapshot: Snapshot,
  offset: number,
): 'same' | 'changed' | 'broken' {
  const { generation } = snapshot.facts
  const [counted, isComplete] = [snapshot.count(), snapshot.isComplete()]
  const isSame = ([at, { print }]: readonly [number, Mark]) => {
    // Rows that were not read yet are compared when they are.
    if (at > counted) return !isComplete
    return isSamePrint(snapshot.printBefore(at), print)
  }
  const all = [...marks]
  if (!all.every((mark) => mark[1].generation !== generation || isSame(mark))) return 'broken'
  if (marks.get(offset)?.generation === generation) return 'same'
  // A reader of an earlier generation goes on only where the rows before the window are those that it was shown.
  const nearest = new Map<string, readonly [number, Mark]>()
  for (const [at, mark] of all) {
    const [before = -1] = nearest.get(mark.generation) ?? []
    if (at <= offset && at > before) nearest.set(mark.generation, [at, mark])
  }
  return [...nearest.values()].every(isSame) ? 'same' : 'changed'
}
