/**
 * A connection to one Valkey/Redis: it sends a command or, when that fails or takes too long, falls back to
 * memory. While Redis is unavailable nothing waits for it. It does not interpret commands, and none of its
 * methods throws. link-state.ts decides whether Redis is available.
 */
import type { Redis, RedisOptions } from 'ioredis'
import { speaksPlainRedis, speaksTls } from '#store/port-protocol.ts'
import { type LinkName, type LinkState, makeLinkState } from './link-state.ts'
import type { KvConnection, Maybe } from './port.ts'
import { LinkedRedis, makeRedisScript, type Script, type ScriptArgument } from './redis-client.ts'
import { type Probe, probeScripts } from './redis-probe.ts'
import type { KvConcern, KvMetrics, KvReport } from './report.ts'

/** Runs one Lua script on one key, as a single atomic step. */
export type RedisScript = (key: string, ...args: readonly ScriptArgument[]) => Promise<unknown>

export interface RedisLink {
  readonly client: Redis
  /** False while memory is used instead. */
  isUp(): boolean
  /** Registers a script of one key. A value of another type is deleted, and the script runs again. */
  script(lua: string): RedisScript
  /** Registers a script of several keys, whose replies have buffers for texts. */
  scriptOfKeys(lua: string): Script
  /** Calls `send`, or `fallback` when Redis is down or `send` failed. Rejects only as `fallback` does. */
  run<T>(concern: KvConcern, send: () => Promise<T>, fallback: () => Maybe<T>): Maybe<T>
  /** Registers a callback for each time Redis becomes available. */
  onEnter(act: () => void): void
  /** Probes Redis and updates `isUp`. */
  probe(): Promise<void>
  /** The state of this connection, for operators. */
  describe(name: KvConnection['name']): KvConnection
  close(): Promise<void>
}

export interface RedisLinkOptions {
  readonly url: string
  /** What is stored there. */
  readonly serves: readonly LinkName[]
  readonly report: KvReport
  /** A key reserved for the probe. */
  readonly probeKey: string
}

// A healthy round trip takes a tenth of a millisecond; this bounds what a slow Redis adds to a request.
const commandTimeoutMs = 250
const connectTimeoutMs = 2000
const maxReconnectDelayMs = 2000

/**
 * Opens the connection and waits until the first probe has succeeded or failed, two seconds at most. Throws
 * only for a URL that is not a Redis URL, without quoting it, because it may contain a password.
 */
export async function openRedisLink(options: RedisLinkOptions): Promise<RedisLink> {
  const variable = options.serves.includes('limits') ? 'REDIS_URL' : 'REDIS_CACHE_URL'
  const client = makeClient(options.url, variable)
  const state = makeLinkState({
    client,
    variable,
    serves: options.serves,
    report: options.report,
    probe: makeProbe(options, client),
    findProtocol: () => findProtocol(options.url),
    deadlineMs: connectTimeoutMs,
  })
  await state.firstKnown
  const { metrics } = options.report
  const register = makeRegister(state)
  return {
    client,
    isUp: state.isUp,
    script: (lua) => makeScript(client, register(makeRedisScript(client, lua)), metrics),
    scriptOfKeys: (lua) => register(makeRedisScript(client, lua, null)),

    run(concern, send, fallback) {
      if (!state.isUp()) {
        metrics.fellBack(concern)
        return fallback()
      }
      return send().then(
        (value) => {
          state.answered()
          return value
        },
        (cause: unknown) => {
          if (isForeignValue(cause)) metrics.unreadable()
          else state.failed(cause)
          metrics.fellBack(concern)
          return fallback()
        },
      )
    },

    onEnter: state.onEnter,
    probe: state.probe,
    describe: (name) => ({
      name,
      variable,
      isUp: state.isUp(),
      trouble: state.trouble(),
      evicts: state.evicts(),
    }),

    async close() {
      const wasUp = state.isUp()
      state.end()
      // QUIT may fail on a broken connection; it is then closed anyway, and the error says nothing new.
      if (wasUp) await client.quit().catch(() => undefined)
      client.disconnect()
    },
  }
}

function makeClient(url: string, variable: KvConnection['variable']): Redis {
  const options: RedisOptions = {
    connectTimeout: connectTimeoutMs,
    // A command is answered now or by the fallback: it is never queued, and never retried.
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    // It asks INFO, which the URL's user may not be allowed; the probe shows whether the server is usable.
    enableReadyCheck: false,
    retryStrategy: (times) => Math.min(times * 100, maxReconnectDelayMs) * (0.5 + Math.random()),
    // After a failover the old primary refuses writes; reconnecting finds the new one.
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
  }
  return new LinkedRedis(readUrl(url, variable), options, commandTimeoutMs)
}

/** Has the server keep every script each time it becomes available. */
function makeRegister(state: Pick<LinkState, 'isUp' | 'onEnter'>): (script: Script) => Script {
  return (script) => {
    const load = () => void script.load()
    if (state.isUp()) load()
    state.onEnter(load)
    return script
  }
}

function makeScript(client: Redis, script: Script, metrics: KvMetrics): RedisScript {
  return (key, ...args) =>
    script.run([key], args).catch(async (cause: unknown) => {
      if (!isForeignValue(cause)) throw cause
      metrics.unreadable()
      await client.del(key)
      return script.run([key], args)
    })
}

/**
 * A key holds a value that this version never writes: another service uses our prefix, or another version
 * another type. This says nothing about the health of the server, and the key must be free for the next
 * write.
 */
function isForeignValue(cause: unknown): boolean {
  return cause instanceof Error && /^WRONGTYPE |value is not an integer/.test(cause.message)
}

/** The scheme in small letters: ioredis connects without TLS where it reads anything but `rediss://`. */
function readUrl(text: string, variable: KvConnection['variable']): string {
  const scheme = URL.parse(text)?.protocol
  if (scheme === 'redis:' || scheme === 'rediss:') return scheme + text.slice(text.indexOf(':') + 1)
  throw new Error(`${variable} must be a redis:// or rediss:// URL`)
}

/** A port with TLS ends a connection without, and one without TLS never answers one with TLS. */
async function findProtocol(text: string): Promise<string | null> {
  const url = new URL(text)
  const port = { host: url.hostname, port: Number(url.port || 6379) }
  if (url.protocol === 'rediss:') {
    const isPlain = await speaksPlainRedis(port)
    return isPlain ? 'its port speaks no TLS: the URL must begin with redis://' : null
  }
  const isTls = await speaksTls(port)
  return isTls ? 'its port speaks TLS: the URL must begin with rediss://' : null
}

/** Runs the commands that this connection will need; one script for each kind of state stored there. */
function makeProbe({ serves, probeKey }: RedisLinkOptions, client: Redis): Probe {
  const checks = serves.map((name) => makeRedisScript(client, probeScripts[name]))
  const database = client.options.db ?? 0
  return {
    async write() {
      // When Redis refuses the database, ioredis continues in database 0 without a word; SELECT reports it.
      if (database > 0) await client.select(database)
      // Both ways in which scripts are sent.
      await Promise.all(
        checks.flatMap((check) => [check.evaluate([probeKey], []), check.run([probeKey], [])]),
      )
    },
    readMemory: () => client.info('memory'),
  }
}
