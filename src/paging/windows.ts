/**
 * Windows over what a query has read (docs/snapshots.md). A window is answered from the snapshot of its query, which is
 * begun where there is none, read on where it is too short, and begun again where it is gone. A window that would not
 * continue what was shown before is refused (readings R17 to R19).
 */
import { randomUUID } from 'node:crypto'
import { apiError } from '#contract/errors.ts'
import type { Provider } from '#contract/resources.ts'
import type { Clock } from '#kernel/time.ts'
import { UpstreamError } from '#providers/failure.ts'
import type { CallContext, RowPage } from '#providers/port.ts'
import { type Anchor, addMark, compare, countShown, isAhead } from './anchor.ts'
import { type Anchors, makeAnchors } from './anchors.ts'
import { makeSeed } from './fingerprint.ts'
import { type HeldSnapshot, openHolder, type SnapshotHolder } from './hold.ts'
import { readOn } from './read-on.ts'
import { type Loaded, makeSharing, type SharedPlace, type Sharing } from './share.ts'
import { type RowOf, type ShownRow, showRows } from './show-rows.ts'
import { makeSnapshot, type SnapshotFacts } from './snapshot.ts'
import type { RowSource } from './take-page.ts'
import { ListChanged, RowsMoved, SavedByOther, SnapshotGone } from './trouble.ts'

/** How often numbered pages that disagree are read again, and how often another process may save first. */
const [maxAgain, maxContests] = [3, 8]
/** Bound of the pages that one request reads. */
const maxReadBytes = 128 * 1024 * 1024

export interface WindowQuery<Page extends RowPage<unknown>> {
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
  read<Page extends RowPage<unknown>>(
    query: WindowQuery<Page>,
    request: WindowRequest,
    call: CallContext,
  ): Promise<Window<RowOf<Page>>>
  close(): void
}

interface Parts {
  readonly clock: Clock
  readonly holder: SnapshotHolder
  readonly anchors: Anchors
  readonly sharing: Sharing | null
}

interface Asked<Page extends RowPage<unknown>> {
  readonly query: WindowQuery<Page>
  readonly request: WindowRequest
  readonly call: CallContext
  /** Identifies the snapshot. */
  readonly key: string
}

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
    anchors: makeAnchors(clock, shared?.snapshots ?? null),
    sharing: shared === null ? null : makeSharing(shared),
  }
  const turns = new Map<string, Promise<unknown>>()

  function inTurn<T>(key: string, work: () => Promise<T>): Promise<T> {
    const mine = (turns.get(key) ?? Promise.resolve()).then(work)
    const done = mine
      .catch(() => undefined)
      .then(() => {
        if (turns.get(key) === done) turns.delete(key)
      })
    turns.set(key, done)
    return mine
  }

  return {
    read(query, request, call) {
      const key = `snapshot ${query.name} ${query.epoch} ${query.facts}`
      return inTurn(key, () => {
        call.signal.throwIfAborted()
        return readWindow(parts, { query, request, call, key })
      })
    },
    close: () => parts.holder.close(),
  }
}

async function readWindow<Page extends RowPage<unknown>>(
  parts: Parts,
  asked: Asked<Page>,
): Promise<Window<RowOf<Page>>> {
  const { query, request } = asked
  let loaded = await load(parts, asked)
  let isFresh = false
  let [again, contests] = [0, 0]
  for (;;) {
    try {
      return await answer(parts, asked, await begin(parts, asked, { ...loaded, isFresh }))
    } catch (error) {
      if (error instanceof SavedByOther && contests < maxContests) {
        contests += 1
        loaded = await load(parts, asked)
      } else if (isGone(error) && again < maxAgain) {
        again += 1
        loaded = { held: null, version: loaded.version }
      } else if (error instanceof ListChanged && request.offset === 0 && !isFresh) {
        isFresh = true
        await query.onListChanged()
      } else {
        throw await toFailure(parts, asked, error)
      }
    }
  }
}

const isGone = (error: unknown) => error instanceof SnapshotGone || error instanceof RowsMoved

/** What this process or another one holds of the query, if it is alive. */
async function load<Page extends RowPage<unknown>>(
  { holder, sharing, clock }: Parts,
  { key, query }: Asked<Page>,
): Promise<Loaded> {
  const now = clock.now()
  const own = holder.get(key)
  // More time left than a whole life means that the clock was set back since it began.
  const isAlive = own !== null && own.expiresAt > now && own.expiresAt <= now + query.ttlMs
  if (own !== null && !isAlive) holder.drop(key)
  const held = isAlive ? own : null
  return sharing === null ? { held, version: null } : sharing.load(key, held, now)
}

/**
 * The snapshot that answers the request: the one that is held, a new one that continues what was shown, or a new one.
 * @throws ListChanged where nothing can continue what was shown.
 */
async function begin<Page extends RowPage<unknown>>(
  { anchors, clock }: Parts,
  { query, request }: Asked<Page>,
  { held, version, isFresh }: Loaded & { readonly isFresh: boolean },
): Promise<HeldSnapshot> {
  const now = clock.now()
  const isCurrent = (begun: SnapshotFacts | Anchor) =>
    begun.generationEpoch === query.epoch &&
    !isAhead(begun, now) &&
    now < begun.generationAt + query.ttlMs
  // A walk that begins sees the rows that have arrived since.
  if (held !== null && !isFresh && (request.offset > 0 || isCurrent(held.snapshot.facts)))
    return held
  const anchor = await anchors.load(query.name)
  const canContinue = anchor !== null && !anchor.isBroken && anchor.facts === query.facts
  if (anchor !== null && request.offset > 0 && !canContinue) throw new ListChanged(null)
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
  return { snapshot, bodies: new Map(), expiresAt: now + query.ttlMs, version, saved: new Set() }
}

const pickFacts = (anchor: Anchor): SnapshotFacts => {
  const { generation, generationEpoch, generationAt, seed, window, firsts } = anchor
  return { generation, generationEpoch, generationAt, seed, window, firsts }
}

async function answer<Page extends RowPage<unknown>>(
  parts: Parts,
  asked: Asked<Page>,
  held: HeldSnapshot,
): Promise<Window<RowOf<Page>>> {
  const { query, request, call, key } = asked
  const { snapshot } = held
  const { facts } = snapshot
  const { offset, limit } = request
  const isFirst = offset === 0 && facts.firsts === null
  const anchor = isFirst ? null : await parts.anchors.load(query.name)
  refuseBroken(anchor, held)
  const opened = new Map<string, Page>()
  const read = new Set<string>()
  let bytes = 0
  try {
    await readOn({
      source: query.source,
      snapshot,
      call,
      offset,
      shown: anchor?.generation === facts.generation ? countShown(anchor, offset) : 0,
      pageCap: request.pageCap,
      confirmEnd: request.confirmEnd,
      read,
      take(list, page, taken) {
        bytes += taken.body.byteLength
        if (bytes > maxReadBytes) throw tooLarge(query.source.provider)
        held.bodies.set(page.name, taken.body)
        const count = snapshot.lists[list]?.sums.count ?? 0
        const isShown = count > offset && count - page.rows.length < offset + limit
        if (isShown) opened.set(page.name, taken)
      },
    })
  } catch (error) {
    await saveRest(parts, asked, held, { error, isNew: read.size > 0 })
    throw error
  }
  if (snapshot.isComplete() && snapshot.lists.every(({ sums }) => sums.ownRows === 0)) {
    await request.confirmEnd()
  }
  const end = Math.min(offset + limit, snapshot.count())
  const isOnePage = snapshot.lists.every(({ pages }) => pages.length < 2)
  const isWhole = isOnePage && offset === 0 && snapshot.isComplete() && end === snapshot.count()
  if (isWhole) parts.holder.drop(key)
  else if (!(await save(parts, asked, held))) throw new SavedByOther()
  refuseOther(anchor, held, offset)
  const rows = await showRows(
    { source: query.source, held, opened, loadBody: makeLoadBody(parts, query.owner) },
    { offset, end },
  )
  // Bodies that came from Redis count for the bound of memory.
  if (!isWhole) parts.holder.keep(key, held)
  const hasMore = !snapshot.isComplete() || end < snapshot.count()
  if (rows.length > 0 && (hasMore || offset > 0)) await mark(parts, asked, held, [offset, end])
  // An empty window has no end that could be marked.
  const isCurrent = facts.generationEpoch === query.epoch && (rows.length > 0 || offset === 0)
  return {
    rows,
    seen: snapshot.count(),
    complete: snapshot.isComplete(),
    // Windows of another epoch's generation are not cached: a walk that begins now counts other rows.
    staleAt: isCurrent ? facts.generationAt + query.ttlMs : 0,
  }
}

function refuseBroken(anchor: Anchor | null, { snapshot: { facts } }: HeldSnapshot): void {
  if (anchor?.isBroken === true && anchor.generation === facts.generation) {
    throw new ListChanged(null)
  }
}

/** @throws ListChanged where the window would not continue what was shown. */
function refuseOther(anchor: Anchor | null, { snapshot }: HeldSnapshot, offset: number): void {
  const found = anchor === null ? 'same' : compare(anchor, snapshot, offset)
  if (found === 'same') return
  throw new ListChanged(found === 'broken' ? snapshot.facts.generation : null)
}

const makeLoadBody =
  ({ sharing }: Parts, owner: string) =>
  async (name: string) =>
    (await sharing?.loadBody(owner, name)) ?? null

/**
 * What came before a failure stays, so that the next request goes on from there. Numbered pages stay only when they were
 * looked at again, and a snapshot that was begun again does not replace a longer one.
 */
async function saveRest<Page extends RowPage<unknown>>(
  parts: Parts,
  asked: Asked<Page>,
  held: HeldSnapshot,
  { error, isNew }: { readonly error: unknown; readonly isNew: boolean },
): Promise<void> {
  const { key, query } = asked
  if (error instanceof SnapshotGone || !isNew) return
  if (query.source.reader.overlap > 0) {
    if (parts.holder.get(key) === held) parts.holder.drop(key)
    return
  }
  const other = parts.holder.get(key)
  if (error instanceof ListChanged || (other?.snapshot.count() ?? 0) > held.snapshot.count()) return
  await save(parts, asked, held)
}

const tooLarge = (provider: Provider) =>
  new UpstreamError(provider, { kind: 'malformed', detail: 'the pages are too large to be held' })

/** False: another process saved first. */
async function save<Page extends RowPage<unknown>>(
  { holder, sharing, clock }: Parts,
  { key, query }: Asked<Page>,
  held: HeldSnapshot,
): Promise<boolean> {
  if ((await sharing?.save(key, query.owner, held, clock.now())) === false) return false
  holder.keep(key, held)
  return true
}

async function mark<Page extends RowPage<unknown>>(
  { anchors, clock }: Parts,
  { query }: Asked<Page>,
  held: HeldSnapshot,
  [offset, end]: readonly [number, number],
): Promise<void> {
  const { name, facts } = query
  const { snapshot, expiresAt } = held
  const now = clock.now()
  await anchors.update(name, (anchor) => {
    // A window in another epoch or process may have been shown from other rows meanwhile.
    refuseBroken(anchor, held)
    refuseOther(anchor, held, offset)
    return addMark(anchor, { snapshot, facts, ends: [offset, end], now, expiresAt })
  })
}

/** The errors that leave the room: an upstream failure, or the refusal of a window. */
async function toFailure<Page extends RowPage<unknown>>(
  { anchors }: Parts,
  { query, request }: Asked<Page>,
  error: unknown,
): Promise<unknown> {
  if (error instanceof ListChanged) {
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
  const { provider } = query.source
  if (error instanceof RowsMoved) {
    // Pages that stay inconsistent may come from a login that has ended (reading R20b).
    await request.confirmEnd()
    const detail = 'rows moved between the pages while they were read'
    return new UpstreamError(provider, { kind: 'malformed', detail }, error)
  }
  if (error instanceof SavedByOther || error instanceof SnapshotGone) {
    const detail = 'what was read is gone, or other processes were reading the same rows'
    return new UpstreamError(provider, { kind: 'unavailable', status: null, detail }, error)
  }
  return error
}
