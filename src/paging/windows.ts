/**
 * Windows over what a query has read (docs/snapshots.md). A window is answered from the snapshot of its
 * query, which is begun where there is none, read on where it is too short, and begun again where it is gone.
 * A window that would not continue what was shown before is refused (readings R17 to R19).
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
  addMarks,
  countShown,
  isAhead,
  makeAnchors,
  refuseChanged,
} from './anchor.ts'
import { makeSeed } from './fingerprint.ts'
import { type HeldSnapshot, openHolder, packBodies, type SnapshotHolder } from './hold.ts'
import { readOn } from './read-on.ts'
import { makeSharing, type SharedPlace, type Sharing } from './share.ts'
import { type RowOf, type ShownRow, showRows } from './show-rows.ts'
import { type Generation, makeSnapshot, type SnapshotFacts, type SnapshotPage } from './snapshot.ts'
import type { AnyPage, RowSource } from './take-page.ts'
import { kindOf, mostTimes, Trouble, toMoved } from './trouble.ts'

/** No provider's cursor expires sooner. */
const cursorLifeMs = 60_000
/** Bound of the pages that one request reads. */
const maxReadBytes = 128 * 1024 * 1024

export interface WindowRequest<Page extends AnyPage = AnyPage> {
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
  readonly offset: number
  readonly limit: number
  /** New pages that this request may read from the provider (reading R17). */
  readonly pageCap: number | null
  readonly call: CallContext
  /** Resolves when a doubted end can be trusted (reading R20b). */
  readonly confirmEnd: () => Promise<void>
  /** Cached windows of a list that has changed must not be served any more. */
  readonly onListChanged: () => Promise<void>
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
  read<Page extends AnyPage>(request: WindowRequest<Page>): Promise<Window<RowOf<Page>>>
  close(): void
}

/** What answers all requests of this process. */
interface Parts {
  readonly clock: Clock
  readonly holder: SnapshotHolder
  readonly anchors: Anchors
  readonly sharing: Sharing | null
}

/** One request, and what answers it. */
interface Ask extends WindowRequest, Parts {
  /** Identifies the snapshot. */
  readonly key: string
}

/** What an attempt may use: what is held, a new reading of the same generation, or only a new generation. */
type Plan = 'held' | 'again' | 'fresh'

/** @param options `maxBytes` bounds the pages that are held; `shared` null: no other process shares them. */
export function openWindows(options: {
  readonly maxBytes: number
  readonly clock: Clock
  readonly shared: SharedPlace | null
}): Windows {
  const { clock, shared } = options
  const parts: Parts = {
    clock,
    holder: openHolder(options),
    anchors: makeAnchors(clock, shared?.anchors ?? null),
    sharing: shared === null ? null : makeSharing(shared),
  }
  const turns = new Map<string, Promise<unknown>>()
  return {
    read<Page extends AnyPage>(request: WindowRequest<Page>): Promise<Window<RowOf<Page>>> {
      const key = `snapshot ${request.name} ${request.epoch} ${request.facts}`
      const mine = (turns.get(key) ?? Promise.resolve()).then(() => {
        request.call.signal.throwIfAborted()
        return readWindow({ ...parts, ...(request as WindowRequest), key })
      })
      const done = mine
        .catch(() => undefined)
        .then(() => {
          if (turns.get(key) === done) turns.delete(key)
        })
      turns.set(key, done)
      return mine as Promise<Window<RowOf<Page>>>
    },
    close: () => parts.holder.close(),
  }
}

async function readWindow(ask: Ask): Promise<Window<unknown>> {
  let plan: Plan = 'held'
  for (let attempts = 0; ; attempts += 1) {
    try {
      return await answer(ask, plan)
    } catch (error) {
      const kind = kindOf(error)
      const beginsAnew = kind === 'changed' && ask.offset === 0 && plan !== 'fresh'
      const isOver = kind === null || attempts >= mostTimes[kind]
      if (isOver || (kind === 'changed' && !beginsAnew)) throw await toFailure(ask, error)
      if (beginsAnew) {
        await ask.onListChanged()
        plan = 'fresh'
      } else if (plan !== 'fresh') plan = kind === 'contested' ? 'held' : 'again'
    }
  }
}

/** A walk that begins may be shown it: it is of this epoch, and no older than a cached answer may be. */
function isCurrent({ epoch, ttlMs, clock }: Ask, begun: Generation): boolean {
  const now = clock.now()
  return begun.generationEpoch === epoch && !isAhead(begun, now) && now < begun.generationAt + ttlMs
}

/**
 * The anchor's generation comes first where it was shown last: its windows, cached ones too, must not meet
 * others. A walk that begins sees the rows that have arrived since.
 */
function canUse(ask: Ask, facts: SnapshotFacts, anchor: Anchor | null): boolean {
  const isOther = anchor !== null && anchor.begun.generation !== facts.generation
  if (ask.offset === 0) return isCurrent(ask, facts) && !(isOther && isCurrent(ask, anchor.begun))
  return !(isOther && anchor.begun.generation === anchor.marks.get(ask.offset)?.generation)
}

/**
 * The snapshot that answers the request: the one that is held, a new one that continues what was shown, or a
 * new one.
 * @throws Trouble `changed` where nothing can continue what was shown.
 */
async function begin(ask: Ask, anchor: Anchor | null, plan: Plan): Promise<HeldSnapshot> {
  const { clock, holder, sharing, key, source, ttlMs, epoch, offset } = ask
  const now = clock.now()
  const own = holder.get(key)
  // More time left than a whole life means that the clock was set back since it began.
  const isAlive = own !== null && own.expiresAt > now && own.expiresAt <= now + ttlMs
  const { held, version } = (await sharing?.load(key, isAlive ? own : null, now)) ?? {
    held: isAlive ? own : null,
    version: null,
  }
  if (held !== null && plan === 'held' && canUse(ask, held.snapshot.facts, anchor)) {
    return source.reader.overlap > 0 ? copyHeld(held) : held
  }
  const canContinue = anchor !== null && !anchor.isBroken && anchor.facts === ask.facts
  if (anchor !== null && offset > 0 && !canContinue) {
    throw new Trouble('changed', 'the snapshot is gone and cannot be continued')
  }
  const isContinued =
    plan !== 'fresh' && canContinue && (offset > 0 || isCurrent(ask, anchor.begun))
  const fresh = {
    generation: randomUUID(),
    generationEpoch: epoch,
    generationAt: now,
    // Marks of earlier generations stay comparable.
    seed: anchor?.begun.seed ?? makeSeed(),
    window: source.queries[0]?.window ?? { from: null, to: null },
    firsts: null,
  }
  const lists = source.queries.map(() => [])
  const snapshot = makeSnapshot(isContinued ? anchor.begun : fresh, lists)
  return { snapshot, bodies: new Map(), expiresAt: now + ttlMs, version, saved: new Set() }
}

/** Numbered pages count only when they were looked at again: until then they are read into a copy. */
function copyHeld(held: HeldSnapshot): HeldSnapshot {
  const { snapshot, bodies, saved } = held
  const lists = snapshot.lists.map(({ pages }) => pages)
  const copy = makeSnapshot(snapshot.facts, lists)
  return { ...held, snapshot: copy, bodies: new Map(bodies), saved: new Set(saved) }
}

async function answer(ask: Ask, plan: Plan): Promise<Window<unknown>> {
  const { holder, sharing, anchors, source, owner, offset, limit, key } = ask
  const anchor = await anchors.load(ask.name, offset)
  const held = await begin(ask, anchor, plan)
  const { snapshot } = held
  const { facts, lists } = snapshot
  refuseChanged(anchor, snapshot, offset)
  const opened = await readMore(ask, held, countShown(anchor, snapshot, offset))
  const [count, isComplete] = [snapshot.count(), snapshot.isComplete()]
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
  const needsMark = hasMore || (rows.length > 0 && offset > 0)
  const isMarked = !needsMark || (await mark(ask, held, end))
  // Windows of another epoch's generation are not cached: a walk that begins now counts other rows. An empty
  // window has no end that could be marked.
  const canCache =
    isMarked && facts.generationEpoch === ask.epoch && (rows.length > 0 || offset === 0)
  const staleAt = canCache ? facts.generationAt + ask.ttlMs : 0
  return { rows, seen: count, complete: isComplete, staleAt }
}

/**
 * Reads what the window needs, and returns the pages that it shows. What came before a failure stays, so that
 * the next request goes on from there; a snapshot that was begun again does not replace a longer one.
 */
async function readMore(ask: Ask, held: HeldSnapshot, shown: number) {
  const { holder, clock, source, ttlMs, offset, limit, key } = ask
  const { snapshot, bodies } = held
  const opened = new Map<string, AnyPage>()
  let bytes = 0
  const take = (page: SnapshotPage, read: AnyPage, list: number) => {
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
    await readOn({ ...ask, snapshot, mayExpire, shown, take })
    return opened
  } catch (error) {
    const isLonger = (holder.get(key)?.snapshot.count() ?? 0) <= snapshot.count()
    if (bytes > 0 && source.reader.overlap === 0 && kindOf(error) === null && isLonger) {
      await packBodies(held)
      await save(ask, held)
    }
    throw error
  }
}

/** False: another process saved first. */
async function save({ holder, sharing, clock, key, owner }: Ask, held: HeldSnapshot) {
  if ((await sharing?.save(key, owner, held, clock.now())) === false) return false
  holder.keep(key, held)
  return true
}

/** False: other processes do not know the mark, so that the window must not be cached. */
async function mark(ask: Ask, { snapshot }: HeldSnapshot, end: number): Promise<boolean> {
  const { anchors, clock, name, facts, ttlMs, offset } = ask
  const now = clock.now()
  const stored = await anchors.update(name, (anchor) => {
    // A window in another epoch or process may have been shown from other rows meanwhile.
    refuseChanged(anchor, snapshot, offset)
    return addMarks(anchor, { snapshot, facts, offset, end, now, ttlMs })
  })
  if (stored === 'conflict') throw new Trouble('contested', 'other processes changed the anchor')
  return stored === 'saved'
}

/** The errors that leave the room: an upstream failure, or the refusal of a window. */
async function toFailure(ask: Ask, error: unknown): Promise<unknown> {
  if (!(error instanceof Trouble)) return error
  const { provider } = ask.source
  if (error.kind === 'moved') return toMoved(provider, ask.confirmEnd, error)
  if (error.kind !== 'changed') {
    const detail = 'what was read is gone, or other processes were reading the same rows'
    return new UpstreamError(provider, { kind: 'unavailable', status: null, detail }, error)
  }
  const { broken } = error
  if (broken !== null) {
    await ask.anchors.update(ask.name, (anchor) =>
      anchor?.begun.generation === broken ? { ...anchor, isBroken: true } : null,
    )
    await ask.onListChanged()
  }
  return apiError('provider_unavailable', {
    message: 'the list changed while it was read: start again at offset 0',
    retryAfterSeconds: 1,
    cause: error,
  })
}
