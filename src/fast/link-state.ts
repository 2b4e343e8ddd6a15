/**
 * Whether a Redis is in use. A successful probe puts it into use; a lost connection, a refusal or too many
 * stalls (unavailability-rule.ts) take it out of use, and background probes follow until it answers again.
 * Every change is logged once and updates one metric.
 */
import type { Redis } from 'ioredis'
import { timedOut } from './command-deadline.ts'
import type { KvConnection } from './port.ts'
import { describeTrouble, type Probe, readEviction } from './redis-probe.ts'
import type { KvReport } from './report.ts'
import { makeLateness } from './unavailability-rule.ts'

export type LinkName = KvConnection['name']

export interface LinkState {
  /** Resolves once the first probe has succeeded or failed. */
  readonly firstKnown: Promise<void>
  isUp(): boolean
  /** Records an answered command. */
  answered(): void
  /** Records a failed command. */
  failed(cause: unknown): void
  trouble(): string | null
  evicts(): string | null
  /** Probes Redis and updates `isUp`. */
  probe(): Promise<void>
  onEnter(act: () => void): void
  end(): void
}

export interface LinkStateOptions {
  readonly client: Redis
  readonly variable: KvConnection['variable']
  readonly serves: readonly LinkName[]
  readonly report: KvReport
  readonly probe: Probe
  /** What its port speaks, where that is not what the URL says; null: it does not show. */
  readonly findProtocol: () => Promise<string | null>
  /** Redis counts as unavailable when no probe has succeeded within this time of the start. */
  readonly deadlineMs: number
}

const probeEveryMs = 500

/** The state of one Redis. */
interface Link extends LinkStateOptions {
  readonly lateness: ReturnType<typeof makeLateness>
  readonly known: PromiseWithResolvers<void>
  readonly log: ReturnType<typeof makeStateLog>
  /** Called each time Redis becomes available. */
  readonly entered: (() => void)[]
  phase: 'opening' | 'up' | 'unavailable' | 'ended'
  probing: Promise<void> | null
  lastCause: unknown
  trouble: string | null
  /** What `findProtocol` found, until Redis answers. */
  protocol: string | null
  evicts: string | null
}

/** Starts probing; call `end` to stop. */
export function makeLinkState(options: LinkStateOptions): LinkState {
  const link: Link = {
    ...options,
    lateness: makeLateness(),
    known: Promise.withResolvers<void>(),
    log: makeStateLog(options),
    entered: [],
    phase: 'opening',
    probing: null,
    lastCause: null,
    trouble: null,
    protocol: null,
    evicts: null,
  }
  const stop = watch(link)
  return {
    firstKnown: link.known.promise,
    isUp: () => link.phase === 'up',
    answered: link.lateness.answered,
    failed(cause) {
      if (link.phase === 'up' && !fail(link, cause)) void ask(link)
    },
    trouble: () => link.trouble,
    evicts: () => link.evicts,
    async probe() {
      await ask(link)
      if (link.phase !== 'up') return learnProtocol(link)
      // Some hosts refuse INFO; the eviction policy is then unknown and not reported.
      const memory = await link.probe.readMemory().catch(() => '')
      link.evicts = readEviction(memory)
    },
    onEnter: (act) => void link.entered.push(act),
    end() {
      link.phase = 'ended'
      stop()
      link.known.resolve()
    },
  }
}

/** Probes while Redis is unavailable, and listens to connection events. Returns what stops the probes. */
function watch(link: Link): () => void {
  const { client } = link
  const prober = setInterval(() => {
    if (link.phase !== 'up') void ask(link)
  }, probeEveryMs)
  prober.unref()
  const noAnswer = () => leave(link, link.lastCause ?? new Error('no answer'))
  const deadline = setTimeout(noAnswer, link.deadlineMs)
  void link.known.promise.then(() => clearTimeout(deadline))
  client.on('error', (cause) => {
    link.lastCause = cause
  })
  client.on('ready', () => void ask(link))
  client.on('close', () => {
    // While unavailable, report the newest cause, e.g. a server that is reachable again but refuses us.
    if (link.phase !== 'unavailable' || link.lastCause !== null) {
      leave(link, link.lastCause ?? new Error('the connection was closed'))
    }
  })
  return () => clearInterval(prober)
}

function ask(link: Link): Promise<void> {
  link.probing ??= write(link).finally(() => {
    link.probing = null
  })
  return link.probing
}

async function write(link: Link): Promise<void> {
  const { client, probe } = link
  // A late probe is retried at once, so that lasting silence adds up to several stalls instead of one.
  while (client.status === 'ready' && link.phase !== 'ended') {
    try {
      await probe.write()
      return enter(link)
    } catch (cause) {
      const decided = fail(link, cause)
      if (!decided) continue
      // When commands time out the TCP connection may be broken without notice, and reconnecting is cheap.
      if (isTimeout(cause) && client.status === 'ready') client.disconnect(true)
      return
    }
  }
}

function enter(link: Link): void {
  link.lateness.answered()
  if (link.phase === 'up' || link.phase === 'ended') return
  link.phase = 'up'
  link.lateness.reset()
  link.lastCause = null
  link.trouble = null
  link.protocol = null
  link.log.up()
  link.known.resolve()
  for (const act of link.entered) act()
}

/** Records a failure; true when it made Redis unavailable. */
function fail(link: Link, cause: unknown): boolean {
  const tooLate = isTimeout(cause) ? link.lateness.late(performance.now()) : true
  if (tooLate) leave(link, cause)
  return tooLate
}

function leave(link: Link, cause: unknown): void {
  if (link.phase === 'ended') return
  const trouble = describeTrouble(cause)
  link.trouble = link.protocol !== null && unclear.test(trouble) ? link.protocol : trouble
  link.log.unavailable(link.trouble, link.phase !== 'unavailable')
  if (link.phase === 'unavailable') return
  const isFirst = link.phase === 'opening'
  link.phase = 'unavailable'
  link.known.resolve()
  if (isFirst) void learnProtocol(link)
}

/** The texts of a connection that ends, or is never answered, for no reason that shows. */
const unclear =
  /ECONNRESET|EPIPE|ETIMEDOUT|connection was closed|no answer|timed out|before secure TLS/

async function learnProtocol(link: Link): Promise<void> {
  if (!unclear.test(link.trouble ?? '')) return
  const found = await link.findProtocol()
  if (found === null || link.phase !== 'unavailable') return
  link.protocol = found
  link.trouble = found
  link.log.unavailable(found, false)
}

/** The texts for a server that answers but refuses our commands. */
const refusals = /^(?:its user|it requires|it refuses|it has no database|its port)/

/**
 * Writes the log lines and sets the metric. While Redis is unavailable, only a new refusal is logged again.
 */
function makeStateLog({ variable, serves, report }: LinkStateOptions) {
  let logged = ''
  return {
    unavailable(cause: string, isNew: boolean): void {
      const isRefusal = refusals.test(cause) && cause !== logged
      if (!isNew && !isRefusal) return
      logged = cause
      for (const name of serves) report.metrics.shared(name, false)
      report.log.warn({ variable, cause }, `Redis is unavailable: ${consequences(serves)}`)
    },
    up(): void {
      logged = ''
      for (const name of serves) report.metrics.shared(name, true)
      report.log.info({ variable }, `Redis is in use: ${whenUp(serves)}`)
    },
  }
}

function consequences(serves: readonly LinkName[]): string {
  const limits = 'limits and breakers are kept per process'
  if (!serves.includes('limits')) return 'nothing is cached'
  return serves.includes('cache') ? `${limits}, no cache` : limits
}

function whenUp(serves: readonly LinkName[]): string {
  if (!serves.includes('limits')) return 'cached answers are shared'
  return serves.includes('cache')
    ? 'limits, breakers and cache are shared'
    : 'limits and breakers are shared'
}

function isTimeout(cause: unknown): boolean {
  return cause instanceof Error && cause.message === timedOut
}
