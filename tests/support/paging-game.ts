/**
 * A game of readers over one query: a provider that is a list, two readers that walk with windows of their own, on one
 * process or on two, while rows arrive and vanish, pages fail, memory is let go, epochs and time pass, and processes and
 * what they share die. The promise: a walk that ends has every row that existed throughout, each once, or was refused.
 */
import assert from 'node:assert/strict'
import { ApiError } from '#contract/errors.ts'
import { openWindows, type Window, type Windows } from '#paging/windows.ts'
import { UpstreamError } from '#providers/failure.ts'
import { aCall, makePagedWorld, makeSharedMemory, type PagedRow, type PagedWorld } from './paged.ts'

const ttlMs = 1_800_000
const anchorMs = 30 * 60_000

/** What happened in all games, so that a test can see that they were games. */
export interface Tally {
  walks: number
  refused: number
  /** Walks whose snapshot and anchor were both lost, or that paused for longer than the anchor lives. */
  excused: number
  /** Walks that another reader, who began again after a change, overtook: their requests are the same. */
  overtaken: number
  rows: number
}

interface Reader {
  readonly limit: number
  offset: number
  seen: string[]
  /** When the rows that its first window shows were read first: an answer may be as old as a cached one. */
  beganAt: number
  lastAt: number
  excuse: 'none' | 'lost' | 'overtaken'
  /** Ends of the windows of this walk. */
  ends: Set<number>
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

/** Plays one game; throws when the promise is broken. */
export async function playGame(
  seed: number,
  tally: Tally,
  trace: (line: string) => void = () => undefined,
): Promise<void> {
  const game = makeGame(seed, trace)
  try {
    const steps = 20 + game.random(40)
    for (let step = 0; step < steps; step += 1) {
      if (game.random(3) === 0) game.disturb()
      else await readOn(game, game.random(2), tally)
    }
  } finally {
    for (const process of game.processes) process.close()
  }
}

interface Life {
  readonly born: number
  died: number | null
}

interface Game {
  readonly trace: (line: string) => void
  readonly random: (below: number) => number
  readonly world: PagedWorld
  readonly readers: Reader[]
  readonly processes: Windows[]
  /** True while processes share something and cannot reach it. */
  readonly isApart: () => boolean
  readonly answers: Map<string, { readonly window: Window<PagedRow>; readonly staleAt: number }>
  readonly pageCap: number | null
  /** Of every row that the query shows. */
  readonly lives: Map<string, Life>
  now: number
  epoch: number
  /** The time zone and the accounts. */
  facts: string
  disturb(): void
}

function makeGame(seed: number, trace: (line: string) => void): Game {
  const random = makeRandom(seed)
  const lists = random(3) === 0 ? 2 : 1
  const paging = random(2) === 0 ? 'after' : 'number'
  let [named, newest] = [0, 1_000_000]
  const makeRow = (time: number): PagedRow => {
    named += 1
    return { id: `r${named}`, time, foreign: random(8) === 0 && paging === 'after' }
  }
  const streams = Array.from({ length: lists }, () => {
    const count = random(4) === 0 ? random(4) : 4 + random(30)
    return Array.from({ length: count }, (_row, index) => makeRow(newest - 10 * index - random(3)))
  })
  // Bodies of some size are compressed, which takes most of a game's time: a few games have them.
  const bodyBytes = seed % 50 === 0 ? 1000 : 0
  const world = makePagedWorld({ streams, paging, pageSize: 2 + random(4), bodyBytes })
  const isShared = random(3) > 0
  const shared = isShared ? makeSharedMemory() : null
  const open = () =>
    openWindows({ maxBytes: random(3) === 0 ? 500 : 1e6, clock: { now: () => game.now }, shared })
  const begin = (limit: number): Reader => ({
    limit,
    offset: 0,
    seen: [],
    beganAt: 0,
    lastAt: 0,
    excuse: 'none',
    ends: new Set(),
  })
  const excuseAll = () => {
    for (const reader of game.readers) if (reader.offset > 0) reader.excuse = 'lost'
  }
  const stream = () => streams[random(lists)] ?? []
  const lives = new Map<string, Life>()
  const came = ({ id, foreign }: PagedRow) => {
    if (!foreign) lives.set(id, { born: game.now, died: null })
  }
  const disturbances: readonly (() => void)[] = [
    function arrive() {
      newest += 1 + random(5)
      const row = makeRow(newest)
      stream().unshift(row)
      came(row)
    },
    function arriveLate() {
      const rows = stream()
      const at = random(rows.length + 1)
      const row = makeRow((rows[at]?.time ?? newest - 1000) + 1)
      rows.splice(at, 0, row)
      rows.sort((one, other) => other.time - one.time)
      came(row)
    },
    function vanish() {
      const rows = stream()
      const [gone] = rows.splice(random(rows.length), 1)
      const life = gone === undefined ? undefined : lives.get(gone.id)
      if (life !== undefined) life.died = game.now
    },
    function fail() {
      let left = 1 + random(3)
      const kinds = [
        { kind: 'unavailable', status: 503, detail: '' },
        { kind: 'unavailable', status: null, detail: '' },
        { kind: 'throttled', retryAfterSeconds: 1, detail: '' },
        { kind: 'rejected', status: 400, detail: '' },
      ] as const
      const failure = kinds[random(kinds.length)] ?? kinds[0]
      const skip = random(4)
      let asked = 0
      world.onRead = () => {
        asked += 1
        if (asked <= skip || left === 0) return
        left -= 1
        throw new UpstreamError('fiskil', failure)
      }
    },
    function moveWhileReading() {
      let left = 1 + random(2)
      const skip = random(4)
      let asked = 0
      world.onRead = () => {
        asked += 1
        if (asked <= skip || left === 0) return
        left -= 1
        disturbances[random(3)]?.()
      }
    },
    function forgetAnswers() {
      for (const key of [...game.answers.keys()]) if (random(2) === 0) game.answers.delete(key)
    },
    function raiseEpoch() {
      game.epoch += 1
    },
    function passTime() {
      game.now += random(4) === 0 ? ttlMs + 1000 : 60_000
    },
    function restart() {
      const at = random(game.processes.length)
      game.processes[at]?.close()
      game.processes[at] = open()
      if (!isShared) {
        excuseAll()
        game.answers.clear()
      }
    },
    function emptyShared() {
      if (shared === null || random(4) > 0) return
      shared.clear()
      game.answers.clear()
      excuseAll()
    },
    function evictShared() {
      for (let keys = 1 + random(4); keys > 0; keys -= 1) shared?.evict(random)
    },
    function changeFacts() {
      if (random(3) > 0) return
      game.facts = game.facts === '' ? 'other' : ''
      game.epoch += 1
    },
    function stopShared() {
      if (shared === null || (!shared.isDown && random(4) > 0)) return
      shared.isDown = !shared.isDown
      excuseAll()
    },
  ]
  const game: Game = {
    trace,
    random,
    world,
    isApart: () => shared?.isDown === true,
    readers: [begin(1 + random(6)), begin(1 + random(6))],
    processes: [],
    answers: new Map(),
    pageCap: random(2) === 0 ? null : 2 + random(3),
    lives,
    now: 1_000_000_000,
    epoch: 1,
    facts: '',
    disturb() {
      game.now += 1
      const disturbance = disturbances[random(disturbances.length)]
      disturbance?.()
      trace(
        `${disturbance?.name}: ${streams.map((rows) => rows.map(({ id, foreign }) => (foreign ? `(${id})` : id)).join()).join(' | ')}`,
      )
    },
  }
  for (const row of streams.flat()) came(row)
  game.processes.push(open())
  if (isShared) game.processes.push(open())
  return game
}

/** One reader asks for its next window, of any process. */
async function readOn(game: Game, number: number, tally: Tally): Promise<void> {
  const reader = game.readers[number]
  if (reader === undefined) return
  game.now += 1
  if (reader.offset > 0 && game.random(12) === 0) reader.offset = 0
  if (reader.offset === 0) beginWalk(game, reader)
  if (game.now - reader.lastAt >= ttlMs + anchorMs) reader.excuse = 'lost'
  if (game.isApart()) reader.excuse = 'lost'
  const window = await ask(game, reader, tally)
  if (window === null) return
  if (reader.offset === 0) reader.beganAt = window.staleAt - ttlMs
  const { rows, seen, complete } = window
  reader.seen.push(...rows.map(({ row }) => row.id))
  reader.offset += rows.length
  reader.lastAt = game.now
  reader.ends.add(reader.offset)
  const other = game.readers[1 - number]
  if (other !== undefined && reader.ends.has(other.offset) && other.offset > 0) {
    if (other.excuse === 'none') other.excuse = 'overtaken'
  }
  if (!complete || reader.offset < seen) return
  judge(game, reader, tally)
  reader.offset = 0
}

function beginWalk({ now }: Game, reader: Reader): void {
  reader.seen = []
  reader.excuse = 'none'
  reader.lastAt = now
  reader.ends = new Set()
}

/** Null: the request failed. A refused walk begins again. */
async function ask(game: Game, reader: Reader, tally: Tally): Promise<Window<PagedRow> | null> {
  const { world, answers, now, epoch } = game
  const key = `${epoch} ${reader.offset} ${reader.limit}`
  const cached = answers.get(key)
  if (cached !== undefined && cached.staleAt > now && !game.isApart()) {
    // The rows of a cached answer may have gone since it was made.
    game.trace(`reader ${game.readers.indexOf(reader)} at ${reader.offset}: HIT`)
    return cached.window
  }
  const process = game.processes[game.random(game.processes.length)] ?? assert.fail()
  try {
    const window = await process.read(
      {
        source: { provider: 'fiskil', reader: world.reader, queries: world.queries },
        owner: 'u',
        name: 'q',
        epoch,
        facts: game.facts,
        ttlMs,
        onListChanged: async () => {
          game.epoch += 1
        },
      },
      {
        offset: reader.offset,
        limit: reader.limit,
        pageCap: game.pageCap,
        confirmEnd: async () => undefined,
      },
      aCall(),
    )
    const { staleAt, complete, rows } = window
    game.trace(
      `reader ${game.readers.indexOf(reader)} at ${reader.offset} epoch ${epoch} process ${game.processes.indexOf(process)}: ${rows.map(({ row }) => row.id)} ${window.seen} ${complete}`,
    )
    const isCacheable = complete || rows.length > 0
    if (isCacheable && !game.isApart() && game.epoch === epoch && staleAt > now)
      answers.set(key, { window, staleAt })
    return window
  } catch (error) {
    game.trace(`reader ${game.readers.indexOf(reader)} at ${reader.offset}: ${error}`)
    if (error instanceof UpstreamError) return null
    if (!(error instanceof ApiError)) throw error
    assert.equal(error.message, 'the list changed while it was read: start again at offset 0')
    assert.notEqual(reader.offset, 0)
    tally.refused += 1
    reader.offset = 0
    return null
  } finally {
    if (game.random(2) === 0) world.onRead = () => undefined
  }
}

function judge({ lives, now }: Game, reader: Reader, tally: Tally): void {
  const { seen, beganAt, excuse } = reader
  tally.walks += 1
  tally.rows += seen.length
  const shown = new Set(seen)
  const missing = [...lives].filter(
    ([id, { born, died }]) => born < beganAt && died === null && !shown.has(id),
  )
  const strange = seen.filter((id) => (lives.get(id)?.died ?? now) < beganAt)
  if (shown.size === seen.length && missing.length === 0 && strange.length === 0) return
  if (excuse === 'lost') tally.excused += 1
  else if (excuse === 'overtaken') tally.overtaken += 1
  else assert.fail(`seen ${seen.join()}; missing ${missing.map(([id]) => id).join()}`)
}
