/**
 * A game of readers over one query: a provider that is a list, two readers that walk with windows of their
 * own, on one process or on two, one after the other or at once, while everything happens that
 * paging-disturbances.ts names. The promise: a walk that ends has every row that existed throughout, each
 * once, or was refused.
 */
import assert from 'node:assert/strict'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { ApiError } from '#contract/errors.ts'
import { doubtLifeMs, type Window, type Windows } from '#paging/windows.ts'
import { UpstreamError } from '#providers/failure.ts'
import type { PagedRow } from './paged.ts'
import {
  anchorMs,
  type Game,
  makeGame,
  malformed,
  type Reader,
  type Tally,
  ttlMs,
} from './paging-board.ts'
import { disturbances } from './paging-disturbances.ts'

/** Plays one game; throws when the promise is broken. */
export async function playGame(
  seed: number,
  tally: Tally,
  trace: (line: string) => void = () => undefined,
): Promise<void> {
  const game = makeGame(seed, tally, trace)
  const finishAll = () => game.readers.map((reader) => finish(game, reader))
  try {
    await playSteps(game)
    await Promise.all(finishAll())
  } finally {
    await Promise.allSettled(finishAll())
    for (const process of game.processes) process.close()
  }
}

async function playSteps(game: Game): Promise<void> {
  const { random, readers } = game
  for (let steps = 20 + random(40); steps > 0; steps -= 1) {
    game.now += 1
    const reader = readers[random(2)]
    if (random(3) === 0 || reader === undefined) disturb(game)
    else {
      if (reader.asking === null) {
        reader.asking = readOn(game, reader)
        reader.asking.catch(() => undefined)
      } else game.release()
      // Otherwise the request is on its way while others come.
      if (random(3) > 0) await finish(game, reader)
      else for (let turns = random(4); turns > 0; turns -= 1) await nextTurn()
    }
  }
}

async function finish(game: Game, reader: Reader): Promise<void> {
  const { asking } = reader
  let isOver = asking === null
  const over = asking?.finally(() => {
    isOver = true
  })
  over?.catch(() => undefined)
  while (!isOver) {
    game.release()
    await nextTurn()
  }
  reader.asking = null
  await over
}

const named = Object.entries(disturbances)

function disturb(game: Game): void {
  const { random, trace, world } = game
  const [name, disturbance] = named[random(named.length)] ?? assert.fail()
  disturbance(game)
  const rows = world.streams.map((stream) =>
    stream.map(({ id, foreign }) => (foreign ? `(${id})` : id)).join(),
  )
  const away = [game.shared?.isDown, game.shared?.isAnchorDown]
  trace(`${name}: ${rows.join(' | ')} away ${away} now ${game.now}`)
}

const isCacheDown = ({ shared }: Game) => shared?.isDown === true

/** One reader asks for its next window, of any process. */
async function readOn(game: Game, reader: Reader): Promise<void> {
  if (reader.offset > 0 && game.random(12) === 0) reader.offset = 0
  if (reader.offset === 0) {
    Object.assign(reader, { seen: [], excuse: 'none', lastAt: game.now, ends: new Set() })
  }
  // Time may pass while the request is on its way.
  const { lastAt } = reader
  const excuse = () => {
    const isLate = game.now - lastAt >= ttlMs + anchorMs
    if (isLate || game.shared?.isAnchorDown === true) reader.excuse = 'lost'
  }
  excuse()
  reader.asked = reader.offset
  const window = await ask(game, reader)
  excuse()
  if (window === null) return
  if (reader.offset === 0) reader.beganAt = window.staleAt - ttlMs
  const { rows, seen, complete } = window
  reader.seen.push(...rows.map(({ row }) => row.id))
  reader.offset += rows.length
  reader.ends.add(reader.offset)
  meetOthers(game, reader, reader.ends)
  for (const other of game.readers) {
    // Without the cache two who begin at once, on two processes, read for themselves: the other may be the
    // later one.
    const mayBeMet = isCacheDown(game) && other !== reader && other.ends.has(reader.offset)
    if (mayBeMet && reader.excuse === 'none') reader.excuse = 'overtaken'
  }
  if (!complete || reader.offset < seen) return
  judge(game, reader)
  reader.offset = 0
}

/**
 * Who stands where a window of another walk ends, or asked there while that one was read, may be shown the
 * rows of that one.
 */
function meetOthers({ readers }: Game, reader: Reader, ends: ReadonlySet<number>): void {
  for (const other of readers) {
    const isMet = other !== reader && other.offset > 0
    const isThere = ends.has(other.offset) || ends.has(other.asked)
    if (isMet && isThere && other.excuse === 'none') other.excuse = 'overtaken'
  }
}

/** Null: the request failed. A refused walk begins again. */
async function ask(game: Game, reader: Reader): Promise<Window<PagedRow> | null> {
  const { answers, now, epoch, trace, random } = game
  const { offset, limit } = reader
  const key = `${epoch} ${offset} ${limit}`
  const cached = answers.get(key)
  const who = `reader ${game.readers.indexOf(reader)} at ${offset}`
  if (cached !== undefined && cached.staleAt > now && !isCacheDown(game)) {
    // The rows of a cached answer may have gone since it was made.
    trace(`${who}: HIT`)
    if (cached.isOrphan) reader.excuse = 'lost'
    reader.lastAt = cached.at
    return cached.window
  }
  const process = game.processes[random(game.processes.length)] ?? assert.fail()
  reader.stop = new AbortController()
  try {
    const window = await readWindow(game, process, reader)
    const { staleAt, complete, rows } = window
    if (!game.processes.includes(process)) {
      // It was killed meanwhile: nobody gets its answer, but its end is marked.
      meetOthers(game, reader, new Set([offset + rows.length]))
      return null
    }
    const ids = rows.map(({ row }) => row.id)
    trace(`${who} epoch ${epoch} process ${game.processes.indexOf(process)}: ${ids} ${complete}`)
    const isCacheable = (complete || rows.length > 0) && staleAt > game.now
    if (isCacheable && !isCacheDown(game)) {
      answers.set(key, { window, staleAt, at: now, isOrphan: false })
    }
    reader.lastAt = now
    return window
  } catch (error) {
    trace(`${who}: ${error}`)
    game.tally.failed += 1
    // What fails heals, so that games get on.
    if (error === malformed) game.spoiled = null
    if (error instanceof UpstreamError || reader.stop.signal.aborted) return null
    if (!(error instanceof ApiError)) throw error
    assert.equal(error.message, 'the list changed while it was read: start again at offset 0')
    // A walk that begins is refused only where what selects its rows has changed meanwhile.
    assert(offset > 0 || game.zoneAndAccountsEpoch > epoch)
    game.tally.refused += 1
    reader.offset = 0
    return null
  } finally {
    reader.stop = null
    if (random(2) === 0) heal(game, reader)
  }
}

/**
 * A bank that is silent speaks again when nobody is reading, and no process goes on with pages that were read
 * meanwhile (docs/snapshots.md, The exceptions).
 */
function heal({ world, readers, now, silentAt }: Game, reader: Reader): void {
  Object.assign(world, { onRead: () => undefined, isBlank: false })
  const isRead = readers.some((other) => other !== reader && other.asking !== null)
  if (!isRead && now - silentAt > doubtLifeMs) world.isSilent = false
}

const consentLost = new UpstreamError('fiskil', {
  kind: 'consent_lost',
  becomes: 'revoked',
  detail: 'it ended',
})

const notReady = new UpstreamError('fiskil', {
  kind: 'unavailable',
  status: null,
  detail: 'silent',
})

function readWindow(
  game: Game,
  process: Windows,
  { offset, limit, stop }: Reader,
): Promise<Window<PagedRow>> {
  const { world, epoch, zoneAndAccounts, pageCap } = game
  const { reader, queries, blankPages } = world
  // A consent that was lost and is restored meanwhile is known to have been lost. Where pages are numbered
  // the account is only asked whether it is ready now.
  const confirmEnd = async () => {
    const wasBlank = reader.overlap === 0 && world.blankPages > blankPages
    if (world.isBlank || wasBlank) throw consentLost
    if (world.isSilent) throw notReady
  }
  // A bank that lists rows by account refuses what it is asked for after the end of a consent.
  const isByAccount = queries.length > 1 && reader.overlap === 0
  const refusing: typeof reader = {
    ...reader,
    async read(query, cursor, call) {
      const page = await reader.read(query, cursor, call)
      if (isByAccount && cursor === null && page.length === 0) await confirmEnd()
      return page
    },
  }
  const source = { provider: 'fiskil', reader: refusing, queries } as const
  const onListChanged = async () => {
    game.epoch += 1
  }
  const query = { source, owner: 'u', name: 'q', epoch, zoneAndAccounts, ttlMs, onListChanged }
  const signal = stop?.signal ?? AbortSignal.abort()
  const request = { offset, limit, pageCap, confirmEnd }
  return process.read({ ...query, ...request, call: { signal, priority: 'user' } })
}

function judge({ lives, now, tally }: Game, reader: Reader): void {
  const { seen, beganAt, excuse } = reader
  tally.walks += 1
  tally.rows += seen.length
  const shown = new Set(seen)
  const missing = [...lives].filter(
    ([id, { born, died, moved }]) =>
      born < beganAt && died === null && (moved ?? 0) < beganAt && !shown.has(id),
  )
  const strange = seen.filter((id) => (lives.get(id)?.died ?? now) < beganAt)
  if (shown.size === seen.length && missing.length === 0 && strange.length === 0) return
  if (excuse === 'lost') tally.excused += 1
  else if (excuse === 'overtaken') tally.overtaken += 1
  else assert.fail(`seen ${seen.join()}; missing ${missing.map(([id]) => id).join()}`)
}
