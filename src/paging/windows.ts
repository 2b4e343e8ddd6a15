/**
 * Windows over what a query has read (docs/snapshots.md). A window is answered from the snapshot of its query, which is
 * begun where there is none, read on where it is too short, and begun again where it is gone. A window that would not
 * continue what was shown before is refused (readings R17 to R19).
 */
import { randomUUID } from 'node:crypto'
import { apiError } from '#contract/errors.ts'
import type { Clock } from '#kernel/time.ts'
import { UpstreamError } from '#providers/failure.ts'
import type { CallContext } from '#providers/port.ts'
import { releaseBytes } from '#providers/release-bytes.ts'
import {
  type Anchor,
  type Anchors,
  addMark,
  countShown,
  isAhead,
  keepMark,
  makeAnchors,
  refuseChanged,
} from './anchor.ts'
import { makeSeed } from './fingerprint.ts'
import { type HeldSnapshot, openHolder, packBodies, type SnapshotHolder } from './hold.ts'
import { readOn } from './read-on.ts'
import { type Loaded, makeSharing, type SharedPlace, type Sharing } from './share.ts'
import { type RowOf, type ShownRow, showRows } from './show-rows.ts'
import { makeSnapshot, type SnapshotFacts } from './snapshot.ts'
import type { AnyPage, RowSource } from './take-page.ts'
import { kindOf, maxAgain, Trouble, toMoved } from './trouble.ts'

/** How often another process may save first. */
const maxContests = 8
/** No provider's cursor expires sooner. */
const cursorLifeMs = 60_000
/** Bound of the pages that one request reads. */
const maxReadBytes = 128 * 1024 * 1024

export interface WindowQuery<Page extends AnyPage = AnyPage> {
  readonly source: RowSource<Page>
  /** The user whose rows they are. */
  readonly owner: string
  /** Identifies user and query, without the epoch. */
  readonly name: string
  readonly epoch: number
  /** The time zone and the accounts. */
  readonly facts: string
  /** How long an answer of the operation is cached: a snapshot lives as long (reading R19). */
  readonly ttlMs: number
  /** Cached windows of a list that has changed must not be served any more. */
  readonly onListChanged: () => Promise<void>
}

export interface WindowRequest {
  readonly offset: number
  readonly limit: number
  /** New pages that this request may read from the provider (reading R17). */
  readonly pageCap: number | null
  /** Resolves when a doubted end can be trusted (reading R20b). */
  readonly confirmEnd: () => Promise<void>
}

export interface Window<Row> {
  readonly rows: readonly ShownRow<Row>[]
  /** Matching rows so far: exact when `complete`, otherwise a lower bound. */
  readonly seen: number
  /** True when the provider has no more rows. */
  readonly complete: boolean
  /** When a cached answer made of it expires, in milliseconds since the epoch. */
  readonly staleAt: number
}

export interface Windows {
  /**
   * Windows of one query are answered one at a time.
   * @throws UpstreamError; ApiError where the window would not continue what was shown.
   */
  read<Page extends AnyPage>(
    query: WindowQuery<Page>,
    request: WindowRequest,
    call: CallContext,
  ): Promise<Window<RowOf<Page>>>
  close(): void
}

/** One request, and what answers it. */
interface Ask {
  readonly clock: Clock
  readonly holder: SnapshotHolder
  readonly anchors: Anchors
  readonly sharing: Sharing | null
  readonly query: WindowQuery
  readonly request: WindowRequest
  readonly call: CallContext
  /** Identifies the snapshot. */
  readonly key: string
}

interface Begun {
  readonly held: HeldSnapshot
  readonly anchor: Anchor | null
}

/** @param options `maxBytes` bounds the pages that are held; `shared` null: no other process shares them. */
export function openWindows(options: {
  readonly maxBytes: number
  readonly clock: Clock
  readonly shared: SharedPlace | null
}): Windows {
  const { clock, shared } = options
  const holder = openHolder(options)
  const anchors = makeAnchors(clock, shared?.anchors ?? null)
  const sharing = shared === null ? null : makeSharing(shared)
  const turns = new Map<string, Promise<unknown>>()
  return {
    read<Page extends AnyPage>(
      query: WindowQuery<Page>,
      request: WindowRequest,
      call: CallContext,
    ): Promise<Window<RowOf<Page>>> {
      const key = `snapshot ${query.name} ${query.epoch} ${query.facts}`
      const mine = (turns.get(key) ?? Promise.resolve()).then(() => {
        call.signal.throwIfAborted()
        return readWindow({ clock, holder, anchors, sharing, query, request, call, key })
      })
      const done = mine
        .catch(() => undefined)
        .then(() => {
          if (turns.get(key) === done) turns.delete(key)
        })
      turns.set(key, done)
      return mine as Promise<Window<RowOf<Page>>>
    },
    close: () => holder.close(),
  }
}

async function readWindow(ask: Ask): Promise<Window<unknown>> {
  let [isGone, isFresh] = [false, false]
  let [again, contests] = [0, 0]
  for (;;) {
    try {
      return await answer(ask, await begin(ask, { isGone, isFresh }))
    } catch (error) {
      const kind = kindOf(error)
      if (kind === 'contested' && contests < maxContests) {
        contests += 1
        isGone = false
      } else if ((kind === 'gone' || kind === 'moved') && again < maxAgain) {
        again += 1
        isGone = true
      } else if (kind === 'changed' && ask.request.offset === 0 && !isFresh) {
        isFresh = true
        await ask.query.onListChanged()
      } else {
        throw await toFailure(ask, error)
      }
    }
  }
}

/** What this process or another one holds of the query, if it is alive. */
async function load({ holder, sharing, clock, key, query }: Ask): Promise<Loaded> {
  const now = clock.now()
  const own = holder.get(key)
  // More time left than a whole life means that the clock was set back since it began.
  const isAlive = own !== null && own.expiresAt > now && own.expiresAt <= now + query.ttlMs
  if (!isAlive) holder.drop(key)
  const held = isAlive ? own : null
  return sharing === null ? { held, version: null } : sharing.load(key, held, now)
}

/**
 * The snapshot that answers the request: the one that is held, a new one that continues what was shown, or a new one.
 * @param given `isGone`: what is held cannot be used; `isFresh`: nothing that was shown is continued.
 * @throws Trouble `changed` where nothing can continue what was shown.
 */
async function begin(
  ask: Ask,
  { isGone, isFresh }: { readonly isGone: boolean; readonly isFresh: boolean },
): Promise<Begun> {
  const { anchors, clock, query, request } = ask
  const { held, version } = await load(ask)
  const anchor = await anchors.load(query.name)
  const now = clock.now()
  const isCurrent = (begun: SnapshotFacts | Anchor) =>
    begun.generationEpoch === query.epoch &&
    !isAhead(begun, now) &&
    now < begun.generationAt + query.ttlMs
  // The anchor's generation comes first where it was shown last: its windows, cached ones too, must not meet others. A
  // walk that begins sees the rows that have arrived since.
  const canUse = (facts: SnapshotFacts) => {
    const isOther = anchor !== null && anchor.generation !== facts.generation
    if (request.offset === 0) return isCurrent(facts) && !(isOther && isCurrent(anchor))
    return !(isOther && anchor.generation === anchor.marks.get(request.offset)?.generation)
  }
  if (held !== null && !isGone && !isFresh && canUse(held.snapshot.facts)) return { held, anchor }
  const canContinue = anchor !== null && !anchor.isBroken && anchor.facts === query.facts
  if (anchor !== null && request.offset > 0 && !canContinue) {
    throw new Trouble('changed', 'the snapshot is gone and cannot be continued')
  }
  const isContinued = !isFresh && canContinue && (request.offset > 0 || isCurrent(anchor))
  const { queries } = query.source
  const facts: SnapshotFacts = isContinued
    ? pickFacts(anchor)
    : {
        generation: randomUUID(),
        generationEpoch: query.epoch,
        generationAt: now,
        // Marks of earlier generations stay comparable.
        seed: anchor?.seed ?? makeSeed(),
        window: queries[0]?.window ?? { from: null, to: null },
        firsts: null,
      }
  const snapshot = makeSnapshot(facts, queries.length)
  const expiresAt = now + query.ttlMs
  return { held: { snapshot, bodies: new Map(), expiresAt, version, saved: new Set() }, anchor }
}

const pickFacts = (anchor: Anchor): SnapshotFacts => {
  const { generation, generationEpoch, generationAt, seed, window, firsts } = anchor
  return { generation, generationEpoch, generationAt, seed, window, firsts }
}

async function answer(ask: Ask, begun: Begun): Promise<Window<unknown>> {
  const { holder, sharing, query, request, key } = ask
  const { held } = begun
  const { source, owner } = query
  const { snapshot } = held
  const { offset, limit } = request
  const { facts, lists } = snapshot
  const isFirst = offset === 0 && facts.firsts === null
  const anchor = isFirst ? null : begun.anchor
  refuseChanged(anchor, snapshot, offset)
  const shown = anchor?.generation === facts.generation ? countShown(anchor, offset) : 0
  const opened = await readMore(ask, held, shown)
  const [count, isComplete] = [snapshot.count(), snapshot.isComplete()]
  if (isComplete && lists.every(({ sums }) => sums.ownRows === 0)) await request.confirmEnd()
  const end = Math.min(offset + limit, count)
  const hasMore = !isComplete || end < count
  const isWhole = offset === 0 && !hasMore && lists.every(({ pages }) => pages.length < 2)
  const raw = isWhole ? [...opened.values()].map(({ body }) => body) : await packBodies(held)
  if (isWhole) holder.drop(key)
  else if (!(await save(ask, held))) throw new Trouble('contested', 'another process saved first')
  refuseChanged(anchor, snapshot, offset)
  const loadBody = async (name: string) => (await sharing?.loadBody(owner, name)) ?? null
  const rows = await showRows(source, held, { opened, loadBody, offset, end })
  // What is held is compressed, and the rows are mapped.
  raw.forEach(releaseBytes)
  // Bodies that came from Redis count for the bound of memory.
  if (!isWhole) holder.keep(key, held)
  const isMarked =
    !(hasMore || (rows.length > 0 && offset > 0)) || (await mark(ask, held, [offset, end]))
  // An empty window has no end that could be marked.
  const isCurrent =
    isMarked && facts.generationEpoch === query.epoch && (rows.length > 0 || offset === 0)
  return {
    rows,
    seen: count,
    complete: isComplete,
    // Windows of another epoch's generation are not cached: a walk that begins now counts other rows.
    staleAt: isCurrent ? facts.generationAt + query.ttlMs : 0,
  }
}

/**
 * Reads what the window needs, and returns the pages that it shows. What came before a failure stays, so that the next
 * request goes on from there. Numbered pages stay only when they were looked at again, and a snapshot that was begun
 * again does not replace a longer one.
 */
async function readMore(
  ask: Ask,
  held: HeldSnapshot,
  shown: number,
): Promise<Map<string, AnyPage>> {
  const { holder, clock, query, request, call, key } = ask
  const { source, ttlMs } = query
  const { snapshot, bodies } = held
  const { offset, limit } = request
  const opened = new Map<string, AnyPage>()
  let bytes = 0
  const take = (page: { name: string; rows: Uint32Array }, read: AnyPage, list: number) => {
    bytes += read.body.byteLength
    if (bytes > maxReadBytes) {
      const detail = 'the pages are too large to be held'
      throw new UpstreamError(source.provider, { kind: 'malformed', detail })
    }
    bodies.set(page.name, read.body)
    const { count } = snapshot.getList(list).sums
    if (count > offset && count - page.rows.length < offset + limit) opened.set(page.name, read)
  }
  try {
    const mayExpire = clock.now() - (held.expiresAt - ttlMs) >= cursorLifeMs
    await readOn({ ...request, source, snapshot, call, mayExpire, shown, take })
    return opened
  } catch (error) {
    const kind = kindOf(error)
    if (bytes === 0 || kind === 'gone') throw error
    const other = holder.get(key)
    if (source.reader.overlap > 0) {
      if (other === held) holder.drop(key)
    } else if (kind !== 'changed' && (other?.snapshot.count() ?? 0) <= snapshot.count()) {
      await packBodies(held)
      await save(ask, held)
    }
    throw error
  }
}

/** False: another process saved first. */
async function save(
  { holder, sharing, clock, key, query }: Ask,
  held: HeldSnapshot,
): Promise<boolean> {
  if ((await sharing?.save(key, query.owner, held, clock.now())) === false) return false
  holder.keep(key, held)
  return true
}

async function mark(
  { anchors, clock, query }: Ask,
  { snapshot }: HeldSnapshot,
  [offset, end]: readonly [number, number],
): Promise<boolean> {
  const { name, facts, ttlMs } = query
  const now = clock.now()
  return anchors.update(name, (anchor) => {
    // A window in another epoch or process may have been shown from other rows meanwhile.
    refuseChanged(anchor, snapshot, offset)
    if (end <= offset) return keepMark(anchor, offset, { now, ttlMs })
    return addMark(anchor, { snapshot, facts, ends: [offset, end], now, ttlMs })
  })
}

/** The errors that leave the room: an upstream failure, or the refusal of a window. */
async function toFailure({ anchors, query, request }: Ask, error: unknown): Promise<unknown> {
  if (!(error instanceof Trouble)) return error
  const { provider } = query.source
  if (error.kind === 'moved') return toMoved(provider, request.confirmEnd, error)
  if (error.kind !== 'changed') {
    const detail = 'what was read is gone, or other processes were reading the same rows'
    return new UpstreamError(provider, { kind: 'unavailable', status: null, detail }, error)
  }
  const { broken } = error
  if (broken !== null) {
    await anchors.update(query.name, (anchor) =>
      anchor?.generation === broken ? { ...anchor, isBroken: true } : null,
    )
    await query.onListChanged()
  }
  return apiError('provider_unavailable', {
    message: 'the list changed while it was read: start again at offset 0',
    retryAfterSeconds: 1,
    cause: error,
  })
}
