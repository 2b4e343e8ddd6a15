/**
 * A whole operators' side for one test: a store of its own on disk, the real adapters pointed at the
 * emulators that the test asks for, the connections room and the admin door. The clock stands still until it
 * is moved.
 */
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { TestContext } from 'node:test'
import type { InjectOptions } from 'fastify'
import pino from 'pino'
import { makeUserActions } from '#auth/actions.ts'
import { makeAgents } from '#auth/oauth/agents.ts'
import { makePasswords, type Passwords } from '#auth/sign-in/password.ts'
import { makeSessions } from '#auth/sign-in/sessions.ts'
import { makeSignIns, type SignIns } from '#auth/sign-in/sign-ins.ts'
import {
  type Connections,
  type ConnectionsReport,
  makeConnections,
} from '#connections/connections.ts'
import type { Provider } from '#contract/resources.ts'
import { makeDoctor, realMachine } from '#doctor/doctor.ts'
import { type AdminDoorOptions, makeAdminDoor, type RequestSync } from '#doors/admin/door.ts'
import { openMemoryKv } from '#fast/memory.ts'
import type { WindowStore } from '#fast/port.ts'
import { Secret } from '#kernel/secret.ts'
import { makeAdapters, type ProviderAccess } from '#providers/adapters.ts'
import type { Adapters } from '#providers/port.ts'
import type { Readings } from '#providers/readings.ts'
import { makeRecentFailures } from '#providers/recent-failures.ts'
import { toPersonalTokens } from '#sandbox/akahu/emulator.ts'
import { emulators, type Emulators as SandboxEmulators } from '#sandbox/emulators.ts'
import { sandboxProviders } from '#sandbox/magic-users.ts'
import { demoPersonalKey } from '#sandbox/snaptrade/index.ts'
import type { Store } from '#store/ports/store.ts'
import { makeSealer } from '#store/seal.ts'
import { makeQueueSamples } from '#telemetry/queue-samples.ts'
import { contentType, makeRegistry, type Registry } from '#telemetry/registry.ts'
import { makeMigratedPlace } from '#tests/contract/store/place.ts'
import { checkAdminAnswer } from '#tests/support/admin-answers.ts'
import { openByMail } from '#tests/support/by-mail.ts'
import { openReadings } from '#tests/support/readings.ts'
import { makeReadLimits } from '#usage/limits-left.ts'
import { makeReadProviders } from '#usage/provider-states.ts'
import { makeReadUsage } from '#usage/report.ts'
import { makeWebhooks } from '#webhooks/webhooks.ts'

export const adminToken = 'trib_admin_token_of_the_tests'
/** Port 9, where nothing listens. */
const nowhere = 'http://127.0.0.1:9'
const installation = {
  version: '0.0.0',
  mode: 'live',
  role: 'all',
  given: [],
  environmentFile: null,
  warnings: [],
  storeDir: tmpdir(),
  hasDatabase: false,
  hasRedis: false,
  encryptionKeyCount: 1,
} as const
/** The specification's. */
const gateLimits = { buckets: { cheap: 60, mid: 30, heavy: 30 }, concurrency: 4 } as const
export const startOfTests = Date.UTC(2026, 10, 20, 3, 15)

export interface StillClock {
  now(): number
  advance(ms: number): void
}

/** Those that the test asked for; the others are null. */
export type Emulators = { readonly [Name in Provider]: SandboxEmulators[Name] | null }

type Deletion = Parameters<ConnectionsReport['deletion']>[0]

export interface World extends Emulators {
  readonly clock: StillClock
  readonly store: Store
  readonly connections: Connections
  readonly adapters: Adapters
  /** What is kept of what providers said (reading R36). */
  readonly readings: Readings
  readonly signIns: SignIns
  readonly door: ReturnType<typeof makeAdminDoor>
  /** What the connections room reported of deletions. */
  readonly deletions: Deletion[]
  /** Providers that could not be asked for webhooks about a login. */
  readonly unheard: string[]
  readonly windows: WindowStore
  /** Every log line so far, as text. */
  readonly logged: string[]
  readonly metrics: Registry
  readonly readiness: {
    draining: boolean
    broken: Map<string, () => Promise<void>>
    unavailable: Set<string>
  }
  /** What works on the store and has to end before the store is closed. */
  readonly workers: { stop(): Promise<void> }[]
  /** Statements behind the store's back, while it is open and idle. */
  tamper(sql: string): Promise<void>
  /** Everything that lies on the disk for the store. */
  readDisk(): Promise<Buffer>
  /** The audit, oldest first. Closes the store: the last thing a test does with it. */
  readAudit(): Promise<AuditRow[]>
  /** One request with the admin token. */
  ask(method: Method, path: string, body?: unknown): Promise<Answer>
  /** Makes a user; returns the id. */
  addUser(email: string): Promise<string>
}

export interface AuditRow {
  readonly actor: string
  readonly action: string
  readonly user_id: string | null
  readonly subject: string
}

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  /** Parsed; null for an empty body. */
  readonly body: unknown
}

export interface WorldOptions {
  readonly providers?: readonly (keyof Emulators)[]
  readonly timeoutMs?: number
  readonly listener?: AdminDoorOptions['listener']
  readonly passwords?: Passwords
  /** `WEBHOOK_ALLOW_PRIVATE`; true by default. */
  readonly allowPrivate?: boolean
  /** `SIGN_UP`; `invite` by default. */
  readonly signUp?: 'open' | 'invite' | 'closed'
  readonly runSync?: RequestSync
  /** This installation's own secrets at the providers are wrong. */
  readonly wrongOwnSecrets?: true
  /** Instead of the full app of the emulator: none, or the personal one of `healthy`. */
  readonly akahuApp?: 'none' | 'personal'
  /** Instead of the commercial key of the emulator: none, or the personal one. */
  readonly snaptradeKey?: 'none' | 'personal'
}

/** Builds it; the test's end takes it down. */
export async function makeWorld(t: TestContext, options: WorldOptions = {}): Promise<World> {
  const clock = makeStillClock()
  const place = makeMigratedPlace()
  const store = await place.open()
  const { running, access } = await startEmulators(options.providers ?? [], clock)
  const readings = openReadings(clock)
  const adapters = connect(choose(access, options), clock, readings)
  const kv = openMemoryKv({ clock, cacheMaxBytes: 1_000_000, cacheMaxEntryBytes: 100_000 })
  const deletions: Deletion[] = []
  const unheard: string[] = []
  const connections = makeConnections({
    store,
    adapters,
    readings,
    clock,
    windows: kv.windows,
    timeoutMs: options.timeoutMs ?? 5000,
    report: {
      deletion: (event) => void deletions.push(event),
      linking: () => undefined,
      failedLate: () => undefined,
      notListening: ({ provider }) => void unheard.push(provider),
    },
  })
  const logged: string[] = []
  const metrics = makeRegistry()
  const readiness: World['readiness'] = {
    draining: false,
    broken: new Map(),
    unavailable: new Set(),
  }
  const check = (name: string, ping: () => Promise<void>) => () =>
    (readiness.broken.get(name) ?? ping)()
  const signIns = makeSignIns({
    store,
    clock,
    windows: kv.windows,
    passwords: options.passwords ?? makePasswords(),
    signInLimit: 30,
    secrets: [new Uint8Array(32)],
    signUp: 'invite',
    origins: () => ({ base: nowhere, mcp: nowhere, auth: nowhere }),
    sealer: makeSealer([new Uint8Array(32)]),
    onDamaged(error) {
      throw error
    },
  })
  const { windows } = kv
  const { signUp = 'invite' } = options
  const { invite } = openByMail({ store, clock, windows, signUp })
  const agents = makeAgents({ store, clock })
  const door = makeAdminDoor({
    store,
    actions: makeUserActions({ store, clock, signIns, invite }),
    connections,
    webhooks: makeWebhooks({ store, clock, allowPrivate: options.allowPrivate ?? true }),
    readUsage: makeReadUsage({ store, agents, clock, settle: null, onFailure: assertNever }),
    readLimits: makeReadLimits({ store, agents, kv, adapters, limits: gateLimits, clock }),
    readProviders: makeReadProviders({ store, kv, adapters, clock }),
    readQueues: makeQueueSamples({ store, clock }).read,
    agents,
    sessions: makeSessions({ store, clock }),
    runSync: options.runSync ?? (async () => assertNever('no sync in this test')),
    clock,
    windows: kv.windows,
    adminToken: new Secret(adminToken),
    planSettings: { defaultPlan: 'none', brokerageDuringTrial: false },
    listener: options.listener ?? { host: '127.0.0.1', isLoopback: true },
    log: pino({ level: 'trace' }, { write: (line: string) => void logged.push(line) }),
    metrics: { contentType, metrics: async () => metrics.text() },
    describeService: () => ({ version: '0', mode: 'live', baseUrl: nowhere, mcpUrl: nowhere }),
    examine: makeDoctor({
      store,
      kv,
      adapters,
      clock,
      mail: null,
      failures: { reads: makeRecentFailures(clock), syncs: makeRecentFailures(clock) },
      installation,
      machine: realMachine,
      // Nothing public listens here.
      origins: () => ({ base: nowhere, mcp: nowhere, auth: nowhere }),
      onFailure: (_check, error) => assertNever(error),
    }),
    checkReplies: true,
    readiness: {
      checks: { store: check('store', () => store.ping()), kv: check('kv', () => kv.ping()) },
      isUnavailable: (name) => readiness.unavailable.has(name),
      isDraining: () => readiness.draining,
    },
  })
  const workers: World['workers'] = []
  t.after(async () => {
    for (const worker of workers) await worker.stop()
    await door.close()
    await readings.close()
    for (const adapter of Object.values(adapters)) await adapter.close()
    for (const emulator of Object.values(running)) await emulator?.close()
    await kv.close()
    await store.close()
    await place.remove()
  })

  return {
    ...running,
    clock,
    store,
    connections,
    adapters,
    readings,
    signIns,
    door,
    deletions,
    unheard,
    windows: kv.windows,
    logged,
    metrics,
    readiness,
    workers,
    tamper: (sql) => place.tamper(sql),
    readDisk: () => place.readAll(),
    async readAudit() {
      await store.close()
      return readAuditRows(place.dataDir)
    },
    ...speakTo(door),
  }
}

/** The calls that most tests make, with the admin token. */
function speakTo(door: World['door']): Pick<World, 'ask' | 'addUser'> {
  async function ask(method: Method, path: string, body?: unknown): Promise<Answer> {
    return inject(door, {
      method,
      url: path,
      headers: { authorization: `Bearer ${adminToken}` },
      ...(body === undefined ? {} : { payload: body as object }),
    })
  }
  return {
    ask,
    async addUser(email) {
      const { status, body } = await ask('POST', '/admin/users', { email })
      if (status !== 201) throw new Error(`no user was made: ${status}`)
      return (body as { id: string }).id
    },
  }
}

/** Past the store, which has no reading of the audit yet: nobody but operators looks at it. */
function readAuditRows(dataDir: string): AuditRow[] {
  const db = new DatabaseSync(join(dataDir, 'tributary.db'), { readOnly: true })
  try {
    const statement = db.prepare('select actor, action, user_id, subject from audit order by rowid')
    return statement.all() as unknown as AuditRow[]
  } finally {
    db.close()
  }
}

/**
 * One request as it is, without the token; its answer is held against the OpenAPI document of the admin API.
 */
export async function inject(door: World['door'], options: InjectOptions): Promise<Answer> {
  const response = await door.inject(options)
  const isJson = String(response.headers['content-type'] ?? '').startsWith('application/json')
  const body = response.body === '' ? null : isJson ? response.json() : response.body
  const answer = { status: response.statusCode, headers: response.headers, body }
  checkAdminAnswer({ method: options.method ?? 'GET', url: String(options.url) }, answer)
  return answer
}

function makeStillClock(): StillClock {
  let now = startOfTests
  return {
    now: () => now,
    advance: (ms) => {
      now += ms
    },
  }
}

interface Started {
  readonly running: Emulators
  readonly access: ProviderAccess
}

async function startEmulators(wanted: readonly Provider[], clock: StillClock): Promise<Started> {
  const options = { clock, seed: 'tributary', port: 0 }
  const all = await Promise.all(
    sandboxProviders.map(async (name) => {
      const started = wanted.includes(name) ? await emulators[name].start(options) : null
      return { name, emulator: started?.emulator ?? null, access: started?.access ?? null }
    }),
  )
  const running = Object.fromEntries(all.map(({ name, emulator }) => [name, emulator]))
  const access = Object.fromEntries(all.map((one) => [one.name, one.access]))
  // Each is under the name of its provider.
  return {
    running: running as unknown as Emulators,
    access: withoutWebhooks(access as unknown as ProviderAccess),
  }
}

/** Nothing receives webhooks here. */
function withoutWebhooks(access: ProviderAccess): ProviderAccess {
  return { ...access, fiskil: access.fiskil && { ...access.fiskil, webhookSecret: null } }
}

/** The real adapters, pointed at the emulators. */
function connect(access: ProviderAccess, clock: StillClock, readings: Readings) {
  return makeAdapters({
    access,
    timeoutMs: 5000,
    clock,
    report: { exchange: () => {}, alert: () => {}, oddity: () => {} },
    budget: () => async () => ({ allowed: true }),
    readings,
  })
}

function choose(given: ProviderAccess, { wrongOwnSecrets, ...options }: WorldOptions) {
  const access = withSnapTrade(given, options)
  if (wrongOwnSecrets === true) return spoil(access)
  const { akahuApp } = options
  if (akahuApp === undefined || access.akahu === null) return access
  const appToken = akahuApp === 'personal' ? toPersonalTokens('healthy').appToken : null
  return { ...access, akahu: { ...access.akahu, appToken, appSecret: null } }
}

function withSnapTrade(access: ProviderAccess, { snaptradeKey }: WorldOptions): ProviderAccess {
  const { snaptrade } = access
  if (snaptradeKey === undefined || snaptrade === null) return access
  const key =
    snaptradeKey === 'personal'
      ? ({ ...demoPersonalKey, keyKind: 'personal' } as const)
      : { clientId: null, consumerKey: null }
  return { ...access, snaptrade: { ...snaptrade, ...key } }
}

function spoil({ fiskil, akahu, snaptrade, ...others }: ProviderAccess): ProviderAccess {
  return {
    ...others,
    fiskil: fiskil && { ...fiskil, clientSecret: 'wrong' },
    akahu: akahu && { ...akahu, appToken: 'app_token_wrong' },
    snaptrade: snaptrade && { ...snaptrade, consumerKey: 'wrong' },
  }
}

function assertNever(error: unknown): never {
  throw new Error('a sweep failed', { cause: error })
}
