/**
 * What disturbs a game of readers (paging-game.ts): rows, failures, memory, time, processes, and what they
 * share.
 */
import { UpstreamError, type UpstreamFailure } from '#providers/failure.ts'
import type { SharedMemory } from './paged.ts'
import { anchorMs, type Game, ttlMs } from './paging-board.ts'

export type Disturbance = (game: Game) => void

/** Of a page: an outage, a timeout, a limit, and a refusal, as of a cursor that has expired. */
const failures: readonly UpstreamFailure[] = [
  { kind: 'unavailable', status: 503, detail: '' },
  { kind: 'unavailable', status: null, detail: '' },
  { kind: 'throttled', retryAfterSeconds: 1, detail: '' },
  { kind: 'rejected', status: 400, detail: '' },
]

const rowsOf = ({ world, random }: Game) => world.streams[random(world.streams.length)] ?? []

/** What the provider's rows do, at any time. */
const moves = {
  arrive(game: Game) {
    const rows = rowsOf(game)
    // A row that changed may be the newest one: the order of the list is that of its times.
    game.newest = Math.max(game.newest, rows[0]?.time ?? 0) + 1 + game.random(5)
    rows.unshift(game.makeRow(game.newest))
  },
  arriveLate(game: Game) {
    const rows = rowsOf(game)
    const at = game.random(rows.length + 1)
    rows.splice(at, 0, game.makeRow((rows[at]?.time ?? game.newest - 1000) + 1))
    rows.sort((one, other) => other.time - one.time)
  },
  vanish(game: Game) {
    const rows = rowsOf(game)
    const [gone] = rows.splice(game.random(rows.length), 1)
    const life = gone === undefined ? undefined : game.lives.get(gone.id)
    if (life !== undefined) life.died = game.now
  },
  /**
   * A row that takes another place may be missed by who reads meanwhile. It is never shown twice. Its time is
   * another one: no provider lets a row of one time pass others of that time.
   */
  change(game: Game) {
    const rows = rowsOf(game)
    const [row] = rows.splice(game.random(rows.length), 1)
    if (row === undefined) return
    const life = game.lives.get(row.id)
    if (life !== undefined) life.moved = game.now
    const by = game.random(80) - 40
    rows.push({ ...row, time: row.time + (by < 0 ? by : by + 1) })
    rows.sort((one, other) => other.time - one.time)
  },
}
const allMoves = Object.values(moves)

/** Runs `act` at the first pages that are read after the next `random(4)`. */
function atPages({ random, world }: Game, count: number, act: () => void): void {
  let [skip, left] = [random(4), count]
  world.onRead = () => {
    if (skip > 0) skip -= 1
    else if (left > 0) {
      left -= 1
      act()
    }
  }
}

const failing = {
  fail(game: Game) {
    const failure = failures[game.random(failures.length)]
    atPages(game, 1 + game.random(3), () => {
      if (failure !== undefined) throw new UpstreamError('fiskil', failure)
    })
  },
  moveWhileReading(game: Game) {
    atPages(game, 1 + game.random(2), () => allMoves[game.random(allMoves.length)]?.(game))
  },
  /**
   * The provider lists nothing any more, from some page on. Numbered pages: an import that ends for the
   * question whether it is ready, and begins again before the second look, cannot be told.
   */
  loseConsent(game: Game) {
    const { world, readers } = game
    if (world.reader.overlap > 0 && readers.some(({ asking }) => asking !== null)) return
    atPages(game, 1, () => {
      game.world.isBlank = true
    })
  },
  /** One of several banks lists nothing for a while; paging-game.ts says until when. */
  silenceBank(game: Game) {
    const { world } = game
    if (world.streams.length > 1 || world.reader.overlap > 0) return
    atPages(game, 1, () => {
      world.isSilent = true
    })
  },
  restoreConsent({ world }: Game) {
    world.isBlank = false
    world.onRead = () => undefined
  },
  spoilRow(game: Game) {
    game.spoiled = rowsOf(game)[0]?.id ?? null
  },
  abort({ readers, random }: Game) {
    readers[random(readers.length)]?.stop?.abort(new Error('the caller has left'))
  },
}

const losing = {
  forgetAnswers({ answers, random }: Game) {
    for (const key of [...answers.keys()]) if (random(2) === 0) answers.delete(key)
  },
  restart({ processes, random, open, shared, answers, excuseAll }: Game) {
    const at = random(processes.length)
    processes[at]?.close()
    processes[at] = open()
    if (shared !== null) return
    excuseAll()
    answers.clear()
  },
  evict({ shared, random }: Game) {
    for (let keys = 1 + random(4); keys > 0; keys -= 1) shared?.evict(random)
  },
  /** The server of the cache is emptied. No walk is excused: anchors are on the other one. */
  emptyCache({ shared, answers }: Game) {
    shared?.clear()
    if (shared !== null) answers.clear()
  },
  /** The server of anchors loses them, while cached windows stay. */
  emptyAnchors({ shared, random, excuseAll, answers }: Game) {
    if (shared === null || random(6) > 0) return
    shared.clearAnchors()
    excuseAll()
    for (const answer of answers.values()) answer.isOrphan = true
  },
  stopCache: ({ shared, random }: Game) => toggle(shared, 'isDown', random),
  stopAnchors({ shared, random, excuseAll }: Game) {
    if (toggle(shared, 'isAnchorDown', random)) excuseAll()
  },
  /** The next value or body that a process saves is stored when somebody lets it. */
  saveSlowly(game: Game) {
    game.slowSaves = 1 + game.random(2)
  },
}

/** A server that is away comes back sooner than one that is there goes away. */
function toggle(
  shared: SharedMemory | null,
  which: 'isDown' | 'isAnchorDown',
  random: Game['random'],
): boolean {
  if (shared === null || (!shared[which] && random(4) > 0)) return false
  shared[which] = !shared[which]
  return true
}

const others = {
  raiseEpoch(game: Game) {
    game.epoch += 1
  },
  passTime(game: Game) {
    game.now += game.random(4) === 0 ? ttlMs + 1000 : 60_000
  },
  changeFacts(game: Game) {
    if (game.random(3) > 0) return
    game.zoneAndAccounts = game.zoneAndAccounts === '' ? 'other' : ''
    game.epoch += 1
    game.zoneAndAccountsEpoch = game.epoch
  },
  /** A reader comes back after a pause that the anchor only just outlives. */
  pause(game: Game) {
    if (game.random(3) === 0) game.now += ttlMs + anchorMs - 120_000
  },
}

export const disturbances: Readonly<Record<string, Disturbance>> = {
  ...moves,
  ...failing,
  ...losing,
  ...others,
}
