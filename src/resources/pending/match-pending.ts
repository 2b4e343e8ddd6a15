/**
 * Which posted row replaced which pending one, where the provider does not say so (reading R39, decision 23).
 * Rows are compared by keyed fingerprints alone. A row that was there while the pending one still was did not
 * replace it; where two could belong together in more than one way nothing is claimed. Pure.
 */
import type { Millis } from '#kernel/time.ts'
import { dayMs } from '#kernel/time.ts'

/** A keyed fingerprint, as text. */
export type TextPrint = string

/** What is compared of a row. */
export interface RowLikeness {
  /** `YYYY-MM-DD`. */
  readonly day: string
  readonly isOut: boolean
  /** Fingerprints of the bank's text and of the merchant; empty ones are left out. */
  readonly texts: readonly TextPrint[]
  readonly amount: TextPrint
  /** A foreign or fuel-like purchase: it may be posted with another amount. */
  readonly mayChange: boolean
}

export interface PostedLikeness extends RowLikeness {
  /** The fingerprint of its id. */
  readonly print: TextPrint
}

export interface ListedPending extends Omit<RowLikeness, 'day'> {
  readonly id: string
  /** Null: not told, so it is the day on which it was first seen. */
  readonly day: string | null
}

export interface SeenPending extends RowLikeness {
  readonly id: string
  readonly firstAt: Millis
  readonly lastAt: Millis
  /** Posted rows that fit, and were there while it was pending. */
  readonly before: readonly TextPrint[]
  /** It is never said to be replaced: what was there before is not known, or more than one row fitted. */
  readonly isDoubtful: boolean
}

/** A posted row that replaced a pending one. */
export interface Settlement {
  readonly posted: TextPrint
  readonly pending: string
  readonly at: Millis
}

/** What is remembered of one account. */
export interface PendingMemory {
  readonly seen: readonly SeenPending[]
  readonly settled: readonly Settlement[]
}

export const emptyMemory: PendingMemory = { seen: [], settled: [] }

/** What was seen at one time. */
export interface PendingSight {
  /** All pending rows of the account. */
  readonly listed: readonly ListedPending[]
  /** All posted rows since `reachDays` ago; null: not all of them are known. */
  readonly posted: readonly PostedLikeness[] | null
  readonly now: Millis
  readonly today: string
}

/** Reading R39: how far the days of both may be apart. */
const mostDaysApart = 10
/** How long a row that is gone, and what replaced it, is remembered. */
export const memoryLifeMs = mostDaysApart * dayMs
/** How far back posted rows are looked at. */
export const reachDays = 30
/** An account with more pending rows is not remembered, and a row with more that fit is doubtful. */
const [mostSeen, mostBefore] = [500, 64]

/** The memory after this sight. */
export function settlePending(memory: PendingMemory, sight: PendingSight): PendingMemory {
  const { listed, posted, now } = sight
  const ids = new Set(listed.map(({ id }) => id))
  const isAlive = (at: Millis) => now - at < memoryLifeMs
  const known = memory.seen.filter(({ lastAt }) => isAlive(lastAt))
  // One that is pending again was not replaced.
  const settled = memory.settled.filter(({ at, pending }) => isAlive(at) && !ids.has(pending))
  const current = listCurrent(known, sight)
  const gone = known.filter(({ id }) => !ids.has(id))
  if (posted === null) {
    const doubted = current.map((row) => ({ ...row, isDoubtful: true }))
    return bound({ seen: [...gone, ...doubted], settled })
  }
  const taken = new Set(settled.map((one) => one.posted))
  const open = posted.filter(({ print }) => !taken.has(print))
  const { waiting, found } = judge(gone, current, open)
  const news = found.map(([pending, row]) => ({ posted: row.print, pending: pending.id, at: now }))
  return bound({
    seen: [...waiting, ...current.map((row) => withBefore(row, posted))],
    settled: [...settled, ...news],
  })
}

/** What the posted row replaced; null: nothing is known. */
export function findReplaced({ settled }: PendingMemory, posted: TextPrint): string | null {
  return settled.find((one) => one.posted === posted)?.pending ?? null
}

function listCurrent(
  known: readonly SeenPending[],
  { listed, now, today }: PendingSight,
): readonly SeenPending[] {
  const byId = new Map(known.map((row) => [row.id, row]))
  return listed.map((row) => {
    const before = byId.get(row.id)
    const day = row.day ?? before?.day ?? today
    // Posted rows around its day are not all looked at.
    const isTooOld = daysApart(day, today) > reachDays - mostDaysApart
    return {
      ...row,
      day,
      firstAt: before?.firstAt ?? now,
      lastAt: now,
      before: before?.before ?? [],
      isDoubtful: isTooOld || before?.isDoubtful === true,
    }
  })
}

type Found = readonly [SeenPending, PostedLikeness]

/** The rows that are gone: those that one posted row replaced, and those that are still waited for. */
function judge(
  gone: readonly SeenPending[],
  current: readonly SeenPending[],
  open: readonly PostedLikeness[],
): { readonly waiting: readonly SeenPending[]; readonly found: readonly Found[] } {
  const all = [...gone, ...current]
  const found: Found[] = []
  const waiting: SeenPending[] = []
  const doubted: [SeenPending, readonly PostedLikeness[]][] = []
  for (const pending of gone) {
    const fitting = open.filter((row) => mayReplace(pending, row))
    const [only] = fitting
    const isOne = only !== undefined && fitting.length === 1 && !pending.isDoubtful
    if (only === undefined) waiting.push(pending)
    else if (isOne && !all.some((other) => other !== pending && mayReplace(other, only))) {
      found.push([pending, only])
    } else doubted.push([pending, fitting])
  }
  return { waiting: [...waiting, ...keepDoubted(doubted)], found }
}

/**
 * Rows that several posted ones may have replaced. Where there are as many posted ones, none of them is still
 * to come; otherwise they stay, so that a later row is not said to have replaced another one.
 */
function keepDoubted(
  doubted: readonly (readonly [SeenPending, readonly PostedLikeness[]])[],
): readonly SeenPending[] {
  const left = new Set(doubted)
  const kept: SeenPending[] = []
  for (const first of doubted) {
    if (!left.delete(first)) continue
    const rows = [first[0]]
    const prints = new Set(first[1].map(({ print }) => print))
    for (let isGrowing = true; isGrowing; ) {
      const near = [...left].find(([, fitting]) => fitting.some(({ print }) => prints.has(print)))
      isGrowing = near !== undefined
      if (near === undefined) continue
      left.delete(near)
      rows.push(near[0])
      for (const { print } of near[1]) prints.add(print)
    }
    if (rows.length > prints.size) kept.push(...rows.map((row) => ({ ...row, isDoubtful: true })))
  }
  return kept
}

/** It fits, and was not there while the other was pending. */
const mayReplace = (pending: SeenPending, row: PostedLikeness): boolean =>
  fits(pending, row) && !pending.before.includes(row.print)

function fits(pending: RowLikeness, row: RowLikeness): boolean {
  if (pending.isOut !== row.isOut) return false
  const isSameAmount = pending.amount === row.amount || pending.mayChange || row.mayChange
  if (!isSameAmount || daysApart(pending.day, row.day) > mostDaysApart) return false
  return pending.texts.some((text) => row.texts.includes(text))
}

function withBefore(pending: SeenPending, posted: readonly PostedLikeness[]): SeenPending {
  const fitting = posted.filter((row) => fits(pending, row)).map(({ print }) => print)
  const before = [...new Set([...pending.before, ...fitting])]
  if (before.length <= mostBefore) return { ...pending, before }
  return { ...pending, before: [], isDoubtful: true }
}

/** Without some of its rows what is said of the others would be a guess. */
const bound = ({ seen, settled }: PendingMemory): PendingMemory => ({
  seen: seen.length > mostSeen ? [] : seen,
  settled: settled.slice(-2 * mostSeen),
})

const daysApart = (one: string, other: string): number =>
  Math.abs(Date.parse(one) - Date.parse(other)) / dayMs
