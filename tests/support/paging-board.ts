/**
 * The board of a game of readers (paging-game.ts): the provider's list, the readers, the processes, what they
 * share, and how long everything takes.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { openWindows, type Window, type Windows } from '#paging/windows.ts'
import { UpstreamError } from '#providers/failure.ts'
import {
  makePagedWorld,
  makeSharedMemory,
  type PagedRow,
  type PagedWorld,
  type SharedMemory,
} from './paged.ts'

export const ttlMs = 1_800_000
export const anchorMs = 30 * 60_000

/** What happened in all games, so that a test can see that they were games. */
export interface Tally {
  walks: number
  refused: number
  failed: number
  /** Walks whose anchor was lost or out of reach, or that paused for longer than it lives. */
  excused: number
  /** Walks that another reader, who began again after a change, overtook: their requests are the same. */
  overtaken: number
  rows: number
}

export const makeTally = (): Tally => ({
  walks: 0,
  refused: 0,
  failed: 0,
  excused: 0,
  overtaken: 0,
  rows: 0,
})

export interface Reader {
  readonly limit: number
  offset: number
  /** The offset of its last request. */
  asked: number
  seen: string[]
  /** When the rows that its first window shows were read first: an answer may be as old as a cached one. */
  beganAt: number
  lastAt: number
  excuse: 'none' | 'lost' | 'overtaken'
  /** Ends of the windows of this walk. */
  ends: Set<number>
  /** The request that is on its way, and what aborts it. */
  asking: Promise<void> | null
  stop: AbortController | null
}

interface Life {
  readonly born: number
  died: number | null
  /** When it last took another place. */
  moved: number | null
}

interface CachedWindow {
  readonly window: Window<PagedRow>
  readonly staleAt: number
  /** When it was asked for: the anchor lives from then on. */
  readonly at: number
  /** Made before anchors were lost: its walk may not be continued. */
  isOrphan: boolean
}

export interface Game {
  readonly trace: (line: string) => void
  readonly random: (below: number) => number
  readonly tally: Tally
  readonly world: PagedWorld
  readonly shared: SharedMemory | null
  readonly readers: Reader[]
  readonly processes: Windows[]
  readonly open: () => Windows
  readonly makeRow: (time: number) => PagedRow
  /** Whoever is on the way may be shown other rows than before. */
  readonly excuseAll: () => void
  readonly answers: Map<string, CachedWindow>
  readonly pageCap: number | null
  /** Of every row that the query shows. */
  readonly lives: Map<string, Life>
  newest: number
  now: number
  epoch: number
  /** The time zone and the accounts. */
  zoneAndAccounts: string
  /** The epoch that began when they last changed. */
  zoneAndAccountsEpoch: number
  /** A row that cannot be mapped. */
  spoiled: string | null
  slowSaves: number
  /** When a page was read last while the bank was silent. */
  silentAt: number
  /** Lets the slow saves go on. */
  release: () => void
}

/** A generator of numbers that a seed fixes (mulberry32). */
export function makeRandom(seed: number): (below: number) => number {
  let state = seed >>> 0
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below) | 0
  }
}

function makeWorld(
  { random, makeRow, newest }: Omit<Game, 'world'>,
  { bodyBytes, hasForeign }: { readonly bodyBytes: number; readonly hasForeign: boolean },
) {
  const lists = random(3) === 0 ? 2 : 1
  // Of numbered pages every row is listed for one account (SnapTrade), so that none is foreign.
  const paging = hasForeign || random(3) === 0 ? 'after' : 'number'
  const streams = Array.from({ length: lists }, () => {
    const count = random(4) === 0 ? random(4) : 4 + random(30)
    return Array.from({ length: count }, (_row, index) => makeRow(newest - 10 * index - random(3)))
  })
  const announces = paging === 'after' && random(3) === 0
  const pageSize = 2 + random(4)
  return makePagedWorld({ streams, paging, pageSize, announces, bodyBytes })
}

export function makeGame(seed: number, tally: Tally, trace: (line: string) => void): Game {
  const random = makeRandom(seed)
  let rows = 0
  const hasForeign = random(2) === 0
  /** Of so many rows one belongs to others. */
  const foreignOf = random(2) === 0 ? 8 : 2
  const game: Omit<Game, 'world'> = {
    trace,
    random,
    tally,
    shared: random(3) > 0 ? makeSharedMemory() : null,
    readers: [beginReader(1 + random(6)), beginReader(1 + random(6))],
    processes: [],
    open: () => {
      const maxBytes = random(3) === 0 ? 500 : 1e6
      return openWindows({ maxBytes, clock: { now: () => game.now }, shared: game.shared })
    },
    makeRow(time) {
      rows += 1
      const row = { id: `r${rows}`, time, foreign: hasForeign && random(foreignOf) === 0 }
      if (!row.foreign) game.lives.set(row.id, { born: game.now, died: null, moved: null })
      return row
    },
    excuseAll() {
      for (const reader of game.readers) reader.excuse = 'lost'
    },
    answers: new Map(),
    pageCap: random(2) === 0 ? null : 2 + random(3),
    lives: new Map(),
    newest: 1_000_000,
    now: 1_000_000_000,
    epoch: 1,
    zoneAndAccounts: '',
    zoneAndAccountsEpoch: 1,
    spoiled: null,
    slowSaves: 0,
    silentAt: 0,
    release: () => undefined,
  }
  // Bodies of some size are compressed, which takes most of a game's time: a few games have them.
  const bodyBytes = seed % 50 === 0 ? 1000 : 0
  const world = makeWorld(game, { bodyBytes, hasForeign })
  addDelays(game, world)
  game.processes.push(game.open())
  if (game.shared !== null) game.processes.push(game.open())
  return Object.assign(game, { world })
}

/** Pages come, and values are stored, after some turns of the event loop; a slow save only when it is let. */
function addDelays(game: Omit<Game, 'world'>, world: PagedWorld): void {
  const { random, shared } = game
  const pass = async () => {
    for (let turns = random(8) - 4; turns > 0; turns -= 1) await nextTurn()
  }
  world.wait = async ({ signal }) => {
    await pass()
    signal.throwIfAborted()
  }
  world.onSilent = () => {
    game.silentAt = game.now
  }
  world.toFlaw = ({ id }) => (id === game.spoiled ? malformed : null)
  if (shared === null) return
  shared.wait = async (what) => {
    await pass()
    if (what === 'load' || game.slowSaves === 0) return
    game.slowSaves -= 1
    const { promise, resolve } = Promise.withResolvers<void>()
    const { release } = game
    game.release = () => {
      release()
      resolve()
      game.release = () => undefined
    }
    await promise
  }
}

export const malformed = new UpstreamError('fiskil', {
  kind: 'malformed',
  detail: 'a row is spoiled',
})

const beginReader = (limit: number): Reader => ({
  limit,
  offset: 0,
  asked: 0,
  seen: [],
  beganAt: 0,
  lastAt: 0,
  excuse: 'none',
  ends: new Set(),
  asking: null,
  stop: null,
})
