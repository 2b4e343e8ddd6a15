/**
 * A whole operators' side for one test: a store of its own on disk, the real adapters pointed at the emulators that the
 * test asks for, the links room and the admin door. The clock stands still until it is moved.
 */
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { TestContext } from 'node:test'
import type { InjectOptions } from 'fastify'
import pino from 'pino'
import { Registry } from 'prom-client'
import { type Accounts, makeAccounts } from '#auth/accounts/accounts.ts'
import { makePasswords, type Passwords } from '#auth/accounts/password.ts'
import { makeDoctor, realMachine } from '#doctor/doctor.ts'
import { type AdminDoorDeps, makeAdminDoor } from '#doors/admin/door.ts'
import { Secret } from '#kernel/secret.ts'
import { makeAdapters, type ProviderAccess } from '#providers/adapters.ts'
import { type AkahuEmulator, demoApp, startAkahuEmulator } from '#sandbox/akahu/emulator.ts'
import {
  type FiskilEmulator,
  fiskilDemoCredentials,
  startFiskilEmulator,
} from '#sandbox/fiskil/index.ts'
import { type SnapTradeEmulator, startSnapTradeEmulator } from '#sandbox/snaptrade/index.ts'
import { type Links, type LinksReport, makeLinks } from '#src/links/links.ts'
import { openMemoryKv } from '#store/kv/memory.ts'
import type { Store } from '#store/port.ts'
import { makeSqlitePlace } from '#tests/contract/store/place.ts'

export const adminToken = 'trib_admin_token_of_the_tests'
/** Port 9, where nothing listens. */
const nowhere = 'http://127.0.0.1:9'
const installation = {
  version: '0.0.0',
  mode: 'live',
  role: 'all',
  given: [],
  warnings: [],
  storeDir: tmpdir(),
  hasDatabase: false,
  hasRedis: false,
  encryptionKeyCount: 1,
} as const
export const startOfTests = Date.UTC(2026, 10, 20, 3, 15)

export interface StillClock {
  now(): number
  advance(ms: number): void
}

export interface Emulators {
  readonly fiskil: FiskilEmulator | null
  readonly akahu: AkahuEmulator | null
  readonly snaptrade: SnapTradeEmulator | null
}

type Deletion = Parameters<LinksReport['deletion']>[0]

export interface World extends Emulators {
  readonly clock: StillClock
  readonly store: Store
  readonly links: Links
  readonly accounts: Accounts
  readonly door: ReturnType<typeof makeAdminDoor>
  /** What the links room reported of deletions. */
  readonly deletions: Deletion[]
  /** Every log line so far, as text. */
  readonly logged: string[]
  readonly metrics: Registry
  readonly readiness: { draining: boolean; broken: Map<string, () => Promise<void>> }
  /** Statements behind the store's back, while it is open and idle. */
  tamper(sql: string): Promise<void>
  /** Everything that lies on the disk for the store. */
  readDisk(): Promise<Buffer>
  /** The audit, oldest first. Closes the store: the last thing a test does with it. */
  readAudit(): Promise<AuditRow[]>
  /** One request with the admin token. */
  ask(method: Method, path: string, body?: unknown): Promise<Answer>
  /** Makes a user and tells the id. */
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
  readonly listener?: AdminDoorDeps['listener']
  readonly passwords?: Passwords
}

/** Builds it; the test's end takes it down. */
export async function makeWorld(t: TestContext, options: WorldOptions = {}): Promise<World> {
  const clock = makeStillClock()
  const place = makeSqlitePlace()
  const store = await place.open()
  const emulators = await startEmulators(options.providers ?? [], clock)
  const adapters = connect(emulators, clock)
  const kv = openMemoryKv({ clock, cacheMaxBytes: 1_000_000, cacheMaxEntryBytes: 100_000 })
  const deletions: Deletion[] = []
  const links = makeLinks({
    store,
    adapters,
    clock,
    timeoutMs: options.timeoutMs ?? 5000,
    report: {
      deletion: (event) => void deletions.push(event),
      sweepFailed: (error) => assertNever(error),
    },
  })
  const logged: string[] = []
  const metrics = new Registry()
  const readiness: World['readiness'] = { draining: false, broken: new Map() }
  const check = (name: string, ping: () => Promise<void>) => () =>
    (readiness.broken.get(name) ?? ping)()
  const accounts = makeAccounts({
    store,
    clock,
    windows: kv.windows,
    passwords: options.passwords ?? makePasswords(),
    signInLimit: 30,
    signUp: 'invite',
  })
  const door = makeAdminDoor({
    store,
    links,
    clock,
    windows: kv.windows,
    adminToken: new Secret(adminToken),
    planSettings: { defaultPlan: 'none', brokerageDuringTrial: false },
    hashPassword: accounts.hashPassword,
    setPassword: accounts.setPassword,
    listener: options.listener ?? { host: '127.0.0.1', isLoopback: true },
    log: pino({ level: 'trace' }, { write: (line: string) => void logged.push(line) }),
    metrics,
    examine: makeDoctor({
      store,
      kv,
      adapters,
      clock,
      installation,
      machine: realMachine,
      // Nothing public listens here.
      origins: () => ({ base: nowhere, mcp: nowhere, auth: nowhere }),
      onFailure: (_check, error) => assertNever(error),
    }),
    readiness: {
      checks: { store: check('store', () => store.ping()), kv: check('kv', () => kv.ping()) },
      isDraining: () => readiness.draining,
    },
  })
  t.after(async () => {
    await door.close()
    for (const adapter of Object.values(adapters)) await adapter.close()
    for (const emulator of Object.values(emulators)) await emulator?.close()
    await kv.close()
    await store.close()
    await place.remove()
  })

  return {
    ...emulators,
    clock,
    store,
    links,
    accounts,
    door,
    deletions,
    logged,
    metrics,
    readiness,
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

/** One request as it is, without the token. */
export async function inject(door: World['door'], options: InjectOptions): Promise<Answer> {
  const response = await door.inject(options)
  const isJson = String(response.headers['content-type'] ?? '').startsWith('application/json')
  const body = response.body === '' ? null : isJson ? response.json() : response.body
  return { status: response.statusCode, headers: response.headers, body }
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

async function startEmulators(
  wanted: readonly (keyof Emulators)[],
  clock: StillClock,
): Promise<Emulators> {
  return {
    fiskil: wanted.includes('fiskil') ? await startFiskilEmulator({ clock }) : null,
    akahu: wanted.includes('akahu') ? await startAkahuEmulator({ clock }) : null,
    snaptrade: wanted.includes('snaptrade') ? await startSnapTradeEmulator({ clock }) : null,
  }
}

/** The real adapters, pointed at the emulators. */
function connect(emulators: Emulators, clock: StillClock) {
  return makeAdapters({
    access: toAccess(emulators),
    timeoutMs: 5000,
    clock,
    report: { exchange: () => {}, alert: () => {}, oddity: () => {} },
    snaptradeBudget: async () => ({ allowed: true }),
  })
}

function toAccess({ fiskil, akahu, snaptrade }: Emulators): ProviderAccess {
  return {
    fiskil:
      fiskil === null ? null : { baseUrl: fiskil.url, version: 'v3', ...fiskilDemoCredentials },
    akahu: akahu === null ? null : { baseUrl: akahu.baseUrl, ...demoApp },
    snaptrade: snaptrade === null ? null : { baseUrl: snaptrade.url, ...snaptrade.credentials },
  }
}

function assertNever(error: unknown): never {
  throw new Error('a sweep failed', { cause: error })
}
