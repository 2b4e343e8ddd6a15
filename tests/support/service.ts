/**
 * The whole service in the test's process: the real app on SQLite and memory, the real adapters, the emulated
 * providers, all on one clock that the test can set. Every REST answer is validated with the served OpenAPI
 * document.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { request } from 'undici'
import { type App, openApp } from '#app/app.ts'
import { mintKey } from '#auth/keys.ts'
import { byOperator } from '#contract/actor.ts'
import type { ErrorEnvelope, Provider } from '#contract/resources.ts'
import type { KeyId, UserId } from '#kernel/ids.ts'
import type { Clock } from '#kernel/time.ts'
import type { ProviderAccess } from '#providers/adapters.ts'
import type { Adapters } from '#providers/port.ts'
import { makeSandboxControl } from '#sandbox/control.ts'
import type { MagicName } from '#sandbox/magic-users.ts'
import { type Sandbox, startSandbox } from '#sandbox/start.ts'
import { loadSecrets } from '#settings/secrets.ts'
import { readConfig } from '#src/config.ts'
import type { AccountRow } from '#store/ports/accounts.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'
import type { PlanRow } from '#store/ports/users.ts'
import { makeLog } from '#telemetry/log.ts'
import { type Metrics, makeMetrics } from '#telemetry/metrics.ts'
import { type AnswerChecker, makeAnswerChecker } from './answers.ts'
import { placeMigratedStore } from './migrated-store.ts'

/** A fixed clock that tests can move. */
export interface StillClock extends Clock {
  /** Moves it; also backwards. */
  advance(ms: number): void
  set(ms: number): void
}

export function makeStillClock(start: number | string = '2026-11-21T02:00:00Z'): StillClock {
  let now = typeof start === 'string' ? Date.parse(start) : start
  return {
    now: () => now,
    advance(ms) {
      now += ms
    },
    set(ms) {
      now = ms
    },
  }
}

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever fields it expects, and fails when they are absent.
  readonly body: any
}

export interface ServiceUser {
  readonly id: UserId
  readonly key: string
  readonly keyId: KeyId
}

export interface ServiceOptions {
  /** Overrides the test's environment, e.g. `{ RATE_LIMIT_HEAVY: '5' }`. */
  readonly env?: Readonly<Record<string, string>>
  readonly clock?: StillClock
  readonly adapters?: Adapters
  /** Instead of that of the service's own sandbox. */
  readonly access?: ProviderAccess
  /** The emulators send their webhooks to the service; otherwise they send none. */
  readonly webhooks?: boolean
  /** Kept after `close`, for a second start. */
  readonly dataDir?: string
}

export interface Service {
  readonly app: App
  readonly sandbox: Sandbox
  readonly clock: StillClock
  readonly metrics: Metrics
  readonly baseUrl: string
  readonly adminUrl: string
  readonly adminToken: string
  readonly dataDir: string
  /** Every line of the log so far. */
  readonly logLines: string[]
  /** A user with a key; Professional and active by default. */
  createUser(plan?: Partial<PlanRow> & { readonly timezone?: string | null }): Promise<ServiceUser>
  /** Links a person's consents at every provider, or at one. */
  link(user: ServiceUser, person: MagicName, provider?: Provider): Promise<readonly ConnectionRow[]>
  accounts(user: ServiceUser): Promise<readonly AccountRow[]>
  /**
   * A GET with the user's key (or a raw Authorization value, or none); the answer is checked against OpenAPI.
   */
  get(
    path: string,
    as?: ServiceUser | string | null,
    headers?: Record<string, string>,
  ): Promise<Answer>
  close(): Promise<void>
}

const roomy = {
  RATE_LIMIT_CHEAP: '100000',
  RATE_LIMIT_MID: '100000',
  RATE_LIMIT_HEAVY: '100000',
  RATE_LIMIT_PREAUTH: '100000',
  RATE_LIMIT_PREAUTH_IP: '100000',
}

/** Limits are very high unless `env` sets them; those of the contract with `env: specified`. */
export const specified = {
  RATE_LIMIT_CHEAP: '60',
  RATE_LIMIT_MID: '30',
  RATE_LIMIT_HEAVY: '30',
  RATE_LIMIT_PREAUTH: '60',
  RATE_LIMIT_PREAUTH_IP: '6000',
}

export async function startService(options: ServiceOptions = {}): Promise<Service> {
  const clock = options.clock ?? makeStillClock()
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'tributary-test-')))
  const config = readConfig({
    PORT: '0',
    ADMIN_PORT: '0',
    DATA_DIR: dataDir,
    SANDBOX: 'true',
    LOG_LEVEL: 'debug',
    // Background syncs would ask providers in between: tests of background work say `all`.
    ROLE: 'api',
    ...roomy,
    ...options.env,
  })
  const secrets = await loadSecrets(config)
  // A folder that was handed in may have a store, or is to have none.
  if (options.dataDir === undefined && config.databaseUrl === null) {
    await placeMigratedStore(config.storeDir)
  }
  const logLines: string[] = []
  const log = makeLog({ level: config.logLevel, destination: collect(logLines) })
  const metrics = makeMetrics()
  const sandbox = await startSandbox({ clock })
  const app = await openApp({
    config,
    secrets,
    access: options.access ?? sandbox.access,
    clock,
    log,
    metrics,
    checkReplies: true,
    madeUpPeople: sandbox.person('healthy'),
    adminExtension: (options) => makeSandboxControl({ ...options, sandbox }),
    ...(options.adapters === undefined ? {} : { adapters: options.adapters }),
  })
  const { origins, adminUrl, localUrl } = await app.listen()
  if (options.webhooks === true) sandbox.sendWebhooksTo(localUrl)
  const check = await findChecker(origins.base)

  return {
    app,
    sandbox,
    clock,
    metrics,
    baseUrl: origins.base,
    adminUrl,
    adminToken: secrets.adminToken.reveal(),
    dataDir,
    logLines,
    createUser: (plan = {}) => createUser(app, clock, plan),
    async link(user, person, provider) {
      const rows: ConnectionRow[] = []
      for (const credentials of sandbox.person(person)) {
        if (provider !== undefined && credentials.provider !== provider) continue
        const linked = await app.connections.linkConnections(byOperator, user.id, credentials)
        rows.push(...linked)
      }
      return rows
    },
    accounts: (user) => app.store.accounts.list(user.id),
    async get(path, as = null, headers = {}) {
      const authorization = as === null ? null : typeof as === 'string' ? as : `Bearer ${as.key}`
      const response = await request(origins.base + path, {
        headers: { ...headers, ...(authorization === null ? {} : { authorization }) },
      })
      const text = await response.body.text()
      const body: unknown = text === '' ? null : JSON.parse(text)
      check(
        { method: 'GET', path },
        { status: response.statusCode, headers: response.headers, body },
      )
      return { status: response.statusCode, headers: response.headers, text, body }
    },
    async close() {
      await app.close()
      await sandbox.close()
      metrics.close()
      if (options.dataDir === undefined) await rm(dataDir, { recursive: true, force: true })
    },
  }
}

/**
 * The document depends on the address alone, which no rule reads (tests/request/rest/origins.test.ts): that
 * of the first service of the process is fetched.
 */
let checker: AnswerChecker | undefined

async function findChecker(baseUrl: string): Promise<AnswerChecker> {
  checker ??= makeAnswerChecker(await fetchDocument(baseUrl))
  return checker
}

export async function fetchDocument(baseUrl: string): Promise<object> {
  const response = await request(`${baseUrl}/openapi.json`)
  return (await response.body.json()) as object
}

function collect(lines: string[]): Writable {
  return new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk))
      done()
    },
  })
}

let users = 0

async function createUser(
  app: App,
  clock: Clock,
  plan: Partial<PlanRow> & { readonly timezone?: string | null },
): Promise<ServiceUser> {
  users += 1
  const row = await app.store.users.create({
    email: `person-${users}@example.test`,
    timezone: null,
    plan: 'professional',
    status: 'active',
    legacyUntil: null,
    grandfathered: false,
    createdAt: clock.now(),
    ...plan,
  })
  if (row === 'taken') throw new Error('the address is taken')
  const minted = mintKey()
  const key = await app.store.keys.create({
    userId: row.id,
    name: 'test',
    prefix: minted.prefix,
    hash: minted.hash,
    createdAt: clock.now(),
    expiresAt: null,
  })
  return { id: row.id, key: minted.key, keyId: key.id }
}

/** The code of an error answer; undefined where it has none. */
export function codeOf(answer: Answer): string | undefined {
  return (answer.body as ErrorEnvelope).error.code
}
