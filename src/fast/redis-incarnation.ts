/**
 * Determines the key names of cached answers. Besides user and epoch, a name includes the generation
 * (contract and version of this software) and the incarnation of the store. After a restore of the database
 * epochs repeat, so Redis remembers the last mark of the store: a lower mark starts a new incarnation, and
 * nothing cached before it is used again. See docs/decisions/0012-incarnations.md.
 */
import { randomUUID } from 'node:crypto'
import { type PeriodicTask, startPeriodic } from '#jobs/periodic.ts'
import type { StoreMark } from '#store/ports/meta.ts'
import type { RedisLink } from './redis-link.ts'
import type { Seal } from './redis-seal.ts'
import type { KvReport } from './report.ts'

export interface IncarnationOptions {
  readonly link: RedisLink
  readonly seal: Seal
  /** Changes when the same rows would give a different answer. */
  readonly generation: string
  readonly mark: StoreMark
  readonly report: KvReport
  readonly timing?: IncarnationTiming
}

export interface IncarnationTiming {
  /** The longest wait between two looks. */
  readonly lookEveryMs: number
  /** After it the next look of any process advances the mark: a backup older than both waits is detected. */
  readonly advanceEveryMs: number
}

export interface Incarnation {
  /** The given link, but also unavailable while the incarnation is unknown. */
  readonly link: RedisLink
  /** Names within this generation and incarnation. */
  readonly seal: Seal
  /** Stops looking. */
  close(): Promise<void>
}

// Two waits of the loop take nine to ten seconds, so a process that is alone advances the mark at every
// second look: a restored backup that is older than ten seconds is detected (docs/operations/install.md).
const defaultTiming: IncarnationTiming = { lookEveryMs: 5000, advanceEveryMs: 8500 }
/** Longer than any cached answer lives, so that no answer outlives the record of its incarnation. */
const lifeMs = 7_200_000

// ARGV: the mark, an id for a new incarnation, the higher mark seen by the first look or -1, two durations.
// Returns the incarnation, whether to advance the mark, and the higher mark that ours is behind, or -1.
const lookLua = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local id = redis.call('HGET', KEYS[1], 'id')
local seen = tonumber(redis.call('HGET', KEYS[1], 'mark')) or -1
local at = tonumber(redis.call('HGET', KEYS[1], 'at')) or 0
local mark = tonumber(ARGV[1])
if id and mark < seen then
  -- Our mark may have been read before another process advanced it, so it must be behind twice.
  if tonumber(ARGV[3]) ~= seen then return {id, 0, seen} end
  id = nil
end
if not id then id = ARGV[2] end
local isDue = now - at >= tonumber(ARGV[4]) and 1 or 0
if isDue == 1 then at = now end
redis.call('HSET', KEYS[1], 'id', id, 'mark', ARGV[1], 'at', string.format('%.0f', at))
redis.call('PEXPIRE', KEYS[1], ARGV[5])
return {id, isDue, -1}
`

/** The state of the incarnation. */
interface Watch extends IncarnationOptions {
  readonly ask: ReturnType<RedisLink['script']>
  readonly name: string
  readonly timing: IncarnationTiming
  id: string | null
  looking: Promise<void> | null
}

/** Looks once, then every few seconds and whenever Redis becomes available again. */
export async function openIncarnation(options: IncarnationOptions): Promise<Incarnation> {
  const { link, seal, generation, report, timing = defaultTiming } = options
  const watch: Watch = {
    ...options,
    ask: link.script(lookLua),
    name: seal.name('incarnation', ''),
    timing,
    id: null,
    looking: null,
  }
  link.onEnter(() => {
    // A restore may have happened meanwhile, so no name is used before the incarnation is known.
    watch.id = null
    void lookNow(watch)
  })
  if (link.isUp()) await lookNow(watch)
  const looking = startPeriodic(makeTask(watch), report.jobs)

  let scoped = { id: watch.id, scope: '' }
  /** The same string object while the incarnation stays the same. */
  function scope(): string {
    if (scoped.scope === '' || scoped.id !== watch.id) {
      scoped = { id: watch.id, scope: `${generation}\0${watch.id}\0` }
    }
    return scoped.scope
  }

  return {
    link: {
      ...link,
      isUp: () => watch.id !== null && link.isUp(),
      run(concern, send, fallback) {
        if (watch.id !== null) return link.run(concern, send, fallback)
        report.metrics.fellBack(concern)
        return fallback()
      },
    },
    seal: {
      ...seal,
      name: (concern, key) => seal.name(concern, key, scope()),
    },
    close: looking.stop,
  }
}

const taskName = 'kv-incarnation'

function makeTask(watch: Watch): PeriodicTask {
  return {
    name: taskName,
    everyMs: watch.timing.lookEveryMs,
    firstRun: 'after_wait',
    async run(stop) {
      // The link itself reports that Redis is unavailable; the next look happens when it is available again.
      if (watch.link.isUp()) await untilStopped(share(watch), stop)
    },
  }
}

/** For callers that continue without an answer. Never rejects. */
function lookNow(watch: Watch): Promise<void> {
  return share(watch).catch((cause: unknown) => watch.report.jobs.failed(taskName, cause))
}

/** One look at a time, shared by all. After a failure the incarnation stays the same until the next look. */
function share(watch: Watch): Promise<void> {
  watch.looking ??= look(watch).finally(() => {
    watch.looking = null
  })
  return watch.looking
}

/** The database has a timeout of seconds; a stopping process does not wait that long. */
async function untilStopped(work: Promise<void>, stop: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const end = () => resolve()
  stop.addEventListener('abort', end, { once: true })
  try {
    await Promise.race([work, promise])
  } finally {
    stop.removeEventListener('abort', end)
  }
}

async function look(watch: Watch): Promise<void> {
  const first = await compare(watch, -1)
  const found = first.behind === -1 ? first : await compare(watch, first.behind)
  if (!found.isDue) return
  await watch.mark.advance()
  await compare(watch, -1)
}

async function compare(watch: Watch, behind: number): Promise<{ isDue: boolean; behind: number }> {
  const { advanceEveryMs } = watch.timing
  const mark = await watch.mark.read()
  const reply = await watch.ask(watch.name, mark, randomUUID(), behind, advanceEveryMs, lifeMs)
  const [found, due, stillBehind] = readReply(reply)
  if (stillBehind === -1) {
    if (behind !== -1 && found !== watch.id) {
      const what = 'the store was restored from a backup: answers cached before are not served'
      watch.report.log.warn({}, what)
    }
    watch.id = found
  }
  return { isDue: due === 1, behind: stillBehind }
}

function readReply(reply: unknown): [string, number, number] {
  if (!Array.isArray(reply)) throw new Error('the reply of a script is not a list')
  const [id, due, behind]: unknown[] = reply
  if (typeof id !== 'string' || typeof due !== 'number' || typeof behind !== 'number') {
    throw new Error('the reply of a script has another form')
  }
  return [id, due, behind]
}
