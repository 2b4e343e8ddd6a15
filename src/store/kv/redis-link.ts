/**
 * The one connection to Valkey/Redis: sends a command or, when that fails or takes too long, lets memory stand in.
 * While Redis is away nothing waits for it; a probe that writes asks in the background whether it is back. It knows
 * nothing of what the commands mean, and none of its methods throws.
 */
import { Redis } from 'ioredis'
import type { Maybe } from '../kv-port.ts'
import type { KvConcern, KvReport } from './report.ts'

/** Runs one Lua script on one key, as a single atomic step. */
export type RedisScript = (key: string, ...args: (string | number)[]) => Promise<unknown>

export interface RedisLink {
  readonly client: Redis
  /** False while memory stands in. */
  isUp(): boolean
  /** Registers a script of one key; call once per name. */
  script(name: string, lua: string): RedisScript
  /** Sends; answers with `standIn` at once when Redis is away, and when `send` fails. Never rejects if `standIn` does not throw. */
  run<T>(concern: KvConcern, send: () => Promise<T>, standIn: () => T): Maybe<T>
  /** Asks Redis whether it is there; the answer is what `isUp` says afterwards. */
  probe(): Promise<void>
  close(): Promise<void>
}

export interface RedisLinkOptions {
  readonly url: string
  readonly report: KvReport
  /** A key of its own that the probe may write. */
  readonly probeKey: string
}

// A healthy round trip is a tenth of a millisecond; a request should not notice more than a blink of a sick one.
const commandTimeoutMs = 250
const connectTimeoutMs = 2000
const maxReconnectDelayMs = 2000
const probeEveryMs = 500

/**
 * Opens the connection and waits until it is known whether Redis is there, two seconds at most. Throws only for a URL
 * that is none of Redis; the text of the URL is never shown, since it may hold a password.
 */
export async function openRedisLink(options: RedisLinkOptions): Promise<RedisLink> {
  const client = new Redis(readUrl(options.url), {
    commandTimeout: commandTimeoutMs,
    connectTimeout: connectTimeoutMs,
    // A command is answered now or by memory; none is kept for later or sent a second time.
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (times) => Math.min(times * 100, maxReconnectDelayMs) * (0.5 + Math.random()),
    // After a failover the old primary refuses writes: connecting anew finds the new one.
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
  })
  const state = makeLinkState(client, options)
  await state.firstKnown
  return {
    client,
    isUp: state.isUp,

    script(name, lua) {
      client.defineCommand(name, { lua, numberOfKeys: 1 })
      const call: RedisScript = Reflect.get(client, name)
      return call.bind(client)
    },

    run(concern, send, standIn) {
      if (!state.isUp()) {
        options.report.metrics.stoodIn(concern)
        return standIn()
      }
      return send().catch((cause: unknown) => {
        state.leave(cause)
        options.report.metrics.stoodIn(concern)
        return standIn()
      })
    },

    probe: state.probe,

    async close() {
      const wasUp = state.isUp()
      state.end()
      // A connection that cannot say goodbye is cut; what it says then tells nobody anything.
      if (wasUp) await client.quit().catch(() => undefined)
      client.disconnect()
    },
  }
}

function readUrl(text: string): string {
  const scheme = URL.parse(text)?.protocol
  if (scheme === 'redis:' || scheme === 'rediss:') return text
  throw new Error('REDIS_URL must be a redis:// or rediss:// URL')
}

interface LinkState {
  readonly firstKnown: Promise<void>
  isUp(): boolean
  leave(cause: unknown): void
  probe(): Promise<void>
  end(): void
}

/** Whether Redis is in use, and the background question whether it is back. */
function makeLinkState(client: Redis, options: RedisLinkOptions): LinkState {
  const { report, probeKey } = options
  const known = Promise.withResolvers<void>()
  let phase: 'opening' | 'up' | 'away' | 'ended' = 'opening'
  let probing: Promise<void> | null = null
  let lastCause: unknown = null

  const prober = setInterval(() => {
    if (phase !== 'up') void probe()
  }, probeEveryMs)
  prober.unref()
  const patience = setTimeout(() => leave(lastCause ?? new Error('no answer')), connectTimeoutMs)

  function leave(cause: unknown): void {
    if (phase === 'away' || phase === 'ended') return
    phase = 'away'
    report.metrics.shared(false)
    report.log.warn(
      { cause: describe(cause) },
      'Redis is away: limits and breakers are kept per process, no cache',
    )
    known.resolve()
  }

  function enter(): void {
    if (phase === 'up' || phase === 'ended') return
    phase = 'up'
    lastCause = null
    report.metrics.shared(true)
    report.log.info({}, 'Redis is in use: limits, breakers and cache are shared')
    known.resolve()
  }

  async function write(): Promise<void> {
    if (client.status !== 'ready') return
    try {
      // A write, not a ping: a full or read-only server answers pings and would be of no use.
      await client.set(probeKey, '1', 'PX', probeEveryMs)
      enter()
    } catch (cause) {
      leave(cause)
      // A connection that lets commands time out may be dead without knowing; a new one costs little.
      if (isTimeout(cause) && client.status === 'ready') client.disconnect(true)
    }
  }

  function probe(): Promise<void> {
    probing ??= write().finally(() => {
      probing = null
    })
    return probing
  }

  client.on('error', (cause) => {
    lastCause = cause
  })
  client.on('ready', () => void probe())
  client.on('close', () => leave(lastCause ?? new Error('the connection was closed')))
  void known.promise.then(() => clearTimeout(patience))

  return {
    firstKnown: known.promise,
    isUp: () => phase === 'up',
    leave,
    probe,
    end() {
      phase = 'ended'
      clearInterval(prober)
      known.resolve()
    },
  }
}

/** A host with several addresses fails with an error that has a code and no message. */
function describe(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause)
  if (cause.message !== '') return cause.message
  return 'code' in cause ? String(cause.code) : cause.name
}

function isTimeout(cause: unknown): boolean {
  return cause instanceof Error && cause.message === 'Command timed out'
}
