/**
 * Windows over what a query has read (docs/snapshots.md). A window is answered from the snapshot of its
 * query, which is begun where there is none, read on where it is too short, and begun again where it is gone.
 * A window that would not continue what was shown before is refused (readings R17 to R19).
 */
import { randomUUID } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { apiError } from '#contract/errors.ts'
import { makeSeed } from '#kernel/fingerprint.ts'
import { packAll, unpack } from '#kernel/packed.ts'
import { makeQueue } from '#kernel/queue.ts'
import { type Clock, type Millis, minuteMs } from '#kernel/time.ts'
import { ageOf } from '#providers/data-age.ts'
import { UpstreamError } from '#providers/failure.ts'
import { releaseBytes } from '#providers/release-bytes.ts'
import { type Anchor, addMarks, countShown, makeAnchors, refuseChanged } from './anchor.ts'
import { copyHeld, type HeldSnapshot } from './held-snapshot.ts'
import { openPlace, type Place, type SharedPlace } from './place.ts'
import { readOn, toRowsFailure } from './read-on.ts'
import {
  isEnded,
  type List,
  makeSnapshot,
  type SnapshotFacts,
  type SnapshotPage,
} from './snapshot.ts'
import { type AnyPage, listQuery, type RowsQuestion } from './take-page.ts'
import { mayRepeat, Trouble } from './trouble.ts'

/** No provider's cursor expires sooner. */
const cursorLifeMs = minuteMs
/** So long pages that are in doubt are continued in this process: longer than a breaker rests. */
export const doubtLifeMs = 2 * minuteMs
/** Bound of the pages that one request reads. */
const maxReadBytes = 128 * 1024 * 1024
/** After this many rows other work of the event loop has its turn. */
const rowsPerTurn = 250

export interface WindowRequest<Page extends AnyPage = AnyPage> extends RowsQuestion<Page> {
  /** The user whose rows they are. */
  readonly owner: string
  /** Identifies user and query, without the epoch. */
  readonly name: string
  readonly epoch: number
  /** The time zone and the accounts. */
  readonly zoneAndAccounts: string
  /** How long an answer of the operation is cached: a snapshot lives as long (reading R19). */
  readonly ttlMs: number
  readonly offset: number
  readonly limit: number
  /** New pages that this request may read from the provider (reading R17). */
  readonly pageCap: number | null
  /** Cached windows of a list that has changed must not be served any more. */
  readonly onListChanged: () => Promise<void>
}

/** The type of the rows on a page. */
export type RowOf<Page extends AnyPage> = ReturnType<Page['map']>

export interface ShownRow<Row> {
  readonly row: Row
  /** 1 for the first of identical fills, 2, 3 … for later ones. */
  readonly copy: number
}

export interface Window<Row> {
  readonly rows: readonly ShownRow<Row>[]
  /** Matching rows so far: exact when `complete`, otherwise a lower bound. */
  readonly seen: number
  /** True when the provider has no more rows. */
  readonly complete: boolean
  /** When a cached answer made of it expires, in milliseconds since the epoch. */
  readonly staleAt: number
  /** The age of the oldest of its pages (null: not told); absent where all was read for this query. */
  readonly asOf?: Millis | null
}

export type Windows = ReturnType<typeof openWindows>

/** One request, and what answers it. */
interface Ask extends WindowRequest {
  /** Identifies the snapshot. */
  readonly key: string
  readonly clock: Clock
  readonly place: Place
  readonly anchors: ReturnType<typeof makeAnchors>
}

/** What an attempt may use: what is held, a new reading of the same generation, or only a new generation. */
type Plan = 'held' | 'again' | 'fresh'

/** @param options `maxBytes` bounds the pages that are held; `shared` null: no other process shares them. */
export function openWindows(options: {
  readonly maxBytes: number
  readonly clock: Clock
  readonly shared: SharedPlace | null
}) {
  const { clock, shared } = options
  const place = openPlace(options)
  const anchors = makeAnchors(clock, shared?.anchors ?? null)
  const queue = makeQueue()
  return {
    /** One at a time for a query. @throws UpstreamError; ApiError where nothing continues what was shown. */
    read<Page extends AnyPage>(request: WindowRequest<Page>): Promise<Window<RowOf<Page>>> {
      const key = `snapshot ${request.name} ${request.epoch} ${request.zoneAndAccounts}`
      const ask: Ask = { ...(request as WindowRequest), key, clock, place, anchors }
      return queue.take(key, async () => {
        request.call.signal.throwIfAborted()
        return (await readWindow(ask)) as Window<RowOf<Page>>
      })
    },
    /** True where a window of the query that ended at `offset` was shown, and can be continued. */
    hasShown: async (name: string, offset: number) =>
      (await anchors.load(name, 0))?.marks.has(offset) === true,
    close: () => place.own.clear(),
  }
}

async function readWindow(ask: Ask): Promise<Window<unknown>> {
  let plan: Plan = 'held'
  for (let attempts = 0; ; attempts += 1) {
    try {
      return await answer(ask, plan)
    } catch (error) {
      const isChanged = error instanceof Trouble && error.kind === 'changed'
      if (isChanged && ask.offset > 0) throw await refuse(ask, error)
      if (!mayRepeat(error, attempts)) throw await toRowsFailure(ask, error)
      if (isChanged && plan !== 'fresh') await ask.onListChanged()
      if (isChanged) plan = 'fresh'
      else if (error.kind === 'contested') plan = 'held'
      else if (plan !== 'fresh') plan = 'again'
    }
  }
}

/**
 * A walk that begins may be shown it: it is of this epoch, or of a later one that came while the request was
 * on its way, and no older than a cached answer may be.
 */
const isCurrent = (
  { epoch, ttlMs, clock }: Ask,
  { origin, goodUntil }: Pick<Anchor, 'origin' | 'goodUntil'>,
): boolean =>
  origin.generationEpoch >= epoch && clock.now() < Math.min(origin.generationAt + ttlMs, goodUntil)

/**
 * The anchor's generation comes first where it was shown last: its windows, cached ones too, must not meet
 * others. A walk that begins sees the rows that have arrived since.
 */
function canUse(ask: Ask, facts: SnapshotFacts, anchor: Anchor | null): boolean {
  const isOther = anchor !== null && anchor.origin.generation !== facts.generation
  if (ask.offset === 0) {
    return (
      isCurrent(ask, { origin: facts, goodUntil: Infinity }) && !(isOther && isCurrent(ask, anchor))
    )
  }
  return !(isOther && anchor.origin.generation === anchor.marks.get(ask.offset)?.generation)
}

/**
 * The snapshot that answers the request: the one that is held, a new one that continues what was shown, or a
 * new one.
 * @throws Trouble `changed` where nothing can continue what was shown.
 */
async function begin(ask: Ask, anchor: Anchor | null, plan: Plan): Promise<HeldSnapshot> {
  const { clock, place, key, source, ttlMs, epoch, offset } = ask
  const { held: last, version } = await place.load(key, ttlMs)
  const now = clock.now()
  // An end is doubted by the request that reads it: later the provider would answer for another time.
  const isOld = (list: List) =>
    list.doubtful > 0 && (isEnded(list) || now - (last?.readAt ?? 0) > doubtLifeMs)
  const isTrusted = last?.snapshot.lists.some(isOld) !== true
  const held = last === null || isTrusted ? last : copyHeld(last, last.snapshot.listTrusted(isOld))
  if (held !== null && plan === 'held' && canUse(ask, held.snapshot.facts, anchor)) {
    // Numbered pages count only when they were looked at again: until then they are read into a copy.
    return source.reader.overlap > 0 ? copyHeld(held, held.snapshot.listPages()) : held
  }
  const canContinue = anchor !== null && anchor.zoneAndAccounts === ask.zoneAndAccounts
  if (anchor !== null && offset > 0 && !canContinue) {
    throw new Trouble('changed', 'the snapshot is gone and cannot be continued')
  }
  // The epoch of the request has passed, and windows of a later one may be cached.
  const isLater = anchor !== null && anchor.origin.generationEpoch > epoch && isCurrent(ask, anchor)
  const isPassed = isLater && anchor.zoneAndAccounts !== null
  if (isPassed && !canContinue) throw refusal()
  const mayContinue = plan !== 'fresh' || isPassed
  const isContinued = mayContinue && canContinue && (offset > 0 || isCurrent(ask, anchor))
  const fresh = {
    generation: randomUUID(),
    generationEpoch: epoch,
    generationAt: now,
    // Marks of earlier generations stay comparable.
    seed: anchor?.origin.seed ?? makeSeed(),
    window: source.queries[0]?.window ?? { from: null, to: null },
    firsts: null,
  }
  const lists = source.queries.map(() => [])
  const snapshot = makeSnapshot(isContinued ? anchor.origin : fresh, lists)
  const expiresAt = now + ttlMs
  return { snapshot, bodies: new Map(), expiresAt, readAt: now, version, saved: new Set() }
}

async function answer(ask: Ask, plan: Plan): Promise<Window<unknown>> {
  const { place, anchors, owner, offset, limit, key } = ask
  const anchor = await anchors.load(ask.name, offset)
  const held = await begin(ask, anchor, plan)
  const { snapshot } = held
  const { facts, lists, order } = snapshot
  refuseChanged(anchor, snapshot, offset)
  const { opened, packing } = await readMore(ask, held, countShown(anchor, snapshot, offset))
  const [seen, complete] = [order.length, snapshot.isComplete()]
  const end = Math.min(offset + limit, seen)
  const isLast = complete && end === seen
  const isWhole = offset === 0 && isLast && lists.every(({ pages }) => pages.length < 2)
  if (!isWhole) packing.push(packAll(held.bodies))
  const raw = (await Promise.all(packing)).flat()
  if (!isWhole && !(await place.save(key, owner, held))) {
    throw new Trouble('contested', 'another process saved first')
  }
  const rows = await showRows(ask, held, opened)
  // What is held is compressed, and the rows are mapped.
  raw.forEach(releaseBytes)
  // Bodies that came from Redis count for the bound of memory.
  if (!isWhole) place.keep(key, held)
  const isMarked = (offset === 0 && isLast) || (await mark(ask, held, end, anchor))
  // Windows of another epoch's generation are not cached: a walk that begins now counts other rows. An empty
  // window has no end that could be marked.
  const canCache =
    isMarked && facts.generationEpoch === ask.epoch && (rows.length > 0 || offset === 0)
  const { goodUntil, ...age } = ageOf(snapshot.listPages().flat())
  const staleAt = canCache ? Math.min(facts.generationAt + ask.ttlMs, goodUntil) : 0
  return { rows, seen, complete, staleAt, ...age }
}

/**
 * Reads what the window needs; returns the pages that it shows and those being compressed while others are
 * read. What came before a failure stays for the next request, but not in place of more.
 */
async function readMore(ask: Ask, held: HeldSnapshot, shown: number) {
  const { place, clock, source, owner, ttlMs, offset, limit, key } = ask
  const { snapshot, bodies } = held
  const opened = new Map<string, AnyPage>()
  const packing: Promise<readonly Uint8Array[]>[] = []
  let bytes = 0
  const take = (page: SnapshotPage, read: AnyPage, { rows, pages }: List) => {
    bytes += read.body.byteLength
    if (bytes > maxReadBytes) {
      const detail = 'the pages are too large to be held'
      throw new UpstreamError(source.provider, { kind: 'malformed', detail })
    }
    bodies.set(page.name, read.body)
    // A page that is all of its list may be the whole answer, which is not held.
    if (page.next !== null || pages.length > 1) {
      const packed = packAll(bodies, [page.name])
      // It is awaited when everything has been read.
      packed.catch(() => undefined)
      packing.push(packed)
    }
    const start = rows.length - page.places.length
    if (rows.length > offset && start < offset + limit) opened.set(page.name, read)
  }
  try {
    const mayExpire = clock.now() - (held.expiresAt - ttlMs) >= cursorLifeMs
    const settle = () => Promise.allSettled(packing)
    await readOn({ ...ask, snapshot, mayExpire, shown, take }).finally(settle)
    return { opened, packing }
  } catch (error) {
    if (source.reader.overlap > 0) throw error
    const isLonger = (place.own.get(key)?.snapshot.order.length ?? 0) <= snapshot.order.length
    if (bytes > 0 && !(error instanceof Trouble) && isLonger) {
      await packAll(bodies)
      await place.save(key, owner, held)
    }
    throw error
  } finally {
    held.readAt = clock.now()
  }
}

/**
 * Maps the rows of the window. Of the pages that are held it opens those that it shows, and no others.
 * @throws Trouble `gone` where a page is not held any more; UpstreamError `malformed` (reading R23).
 */
async function showRows(ask: Ask, held: HeldSnapshot, opened: Map<string, AnyPage>) {
  const { place, owner, source, offset, limit } = ask
  const { snapshot, bodies } = held
  const rows: ShownRow<unknown>[] = []
  for (const { list, page, entry, copy } of snapshot.order.slice(offset, offset + limit)) {
    if (rows.length % rowsPerTurn === 0) await nextTurn()
    let open = opened.get(page.name)
    if (open === undefined) {
      const body = bodies.get(page.name) ?? (await place.loadBody(owner, page.name))
      if (body === null) throw new Trouble('gone', 'the body of a page is gone')
      bodies.set(page.name, body)
      open = source.reader.open(listQuery(source, snapshot, list), page.cursor, await unpack(body))
      opened.set(page.name, open)
    }
    rows.push({ row: open.map(page.places[entry] ?? 0), copy })
  }
  return rows
}

/** False: other processes do not know the mark, so that the window must not be cached. */
async function mark(
  ask: Ask,
  { snapshot }: HeldSnapshot,
  end: number,
  before: Anchor | null,
): Promise<boolean> {
  const { anchors, clock, name, zoneAndAccounts, ttlMs, offset } = ask
  const now = clock.now()
  const stored = await anchors.update(name, (anchor) => {
    const generation = anchor?.origin.generation
    const isNews =
      generation !== before?.origin.generation && generation !== snapshot.facts.generation
    // The first one of two that begin at once wins, and the other uses its generation.
    if (offset === 0 && anchor !== null && isNews && isCurrent(ask, anchor)) {
      throw new Trouble('contested', 'another walk of this query began first')
    }
    // The rows that were read, and windows that another epoch or process showed meanwhile, are compared here.
    refuseChanged(anchor, snapshot, offset)
    const { goodUntil } = ageOf(snapshot.listPages().flat())
    return addMarks(anchor, snapshot, { zoneAndAccounts, offset, end, now, ttlMs, goodUntil })
  })
  if (stored === 'conflict') throw new Trouble('contested', 'other processes changed the anchor')
  return stored === 'saved'
}

/** The refusal of a window. A generation of which no window can be continued is broken. */
async function refuse(ask: Ask, changed: Trouble): Promise<Error> {
  const { broken } = changed
  if (broken !== null) {
    await ask.anchors.update(ask.name, (anchor) =>
      anchor?.origin.generation === broken ? { ...anchor, zoneAndAccounts: null } : null,
    )
    await ask.onListChanged()
  }
  return refusal(changed)
}

const refusal = (cause?: Error): Error =>
  apiError('provider_unavailable', {
    message: 'the list changed while it was read: start again at offset 0',
    retryAfterSeconds: 1,
    cause,
  })
