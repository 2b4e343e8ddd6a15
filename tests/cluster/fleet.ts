/**
 * Several processes of one service for tests: one PostgreSQL schema, one Redis of the test's own, and the
 * emulators of this process as its providers, all on the real clock. It starts and ends them; what they must
 * do stands in the tests.
 */
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '#kernel/time.ts'
import { factsOf, providerNames } from '#providers/all-facts.ts'
import { type Sandbox, startSandbox } from '#sandbox/start.ts'
import { makePostgresGround } from './postgres-place.ts'
import { makeRedisServer, type RedisServer } from './redis-server.ts'
import { type ServerProcess, startServerProcess } from './server-process.ts'

export interface FleetUser {
  readonly id: string
  readonly key: string
  readonly keyId: string
}

export interface LinkedUser extends FleetUser {
  readonly connectionId: string
  /** One account of the connection. */
  readonly accountId: string
  /** Its transactions; `query` begins with "&" or is empty. */
  transactions(query?: string): string
}

export interface Fleet {
  readonly sandbox: Sandbox
  readonly redis: RedisServer
  /** The first two processes. */
  readonly one: ServerProcess
  readonly two: ServerProcess
  /** One more of the same service; `env` is laid over its environment. */
  start(env?: Readonly<Record<string, string>>): Promise<ServerProcess>
  createUser(plan?: 'developer' | 'professional'): Promise<FleetUser>
  /** A user who has linked the healthy person's bank in Australia. */
  createLinked(): Promise<LinkedUser>
  close(): Promise<void>
}

export interface FleetOptions {
  /** Laid over the environment of every process. */
  readonly env?: Readonly<Record<string, string>>
  /** Another database than a schema on the server of the cluster suite. */
  readonly databaseUrl?: string
}

/** Limits out of the way; a test that is about one of them sets it. */
const roomy = {
  RATE_LIMIT_CHEAP: '1000000',
  RATE_LIMIT_MID: '1000000',
  RATE_LIMIT_HEAVY: '1000000',
  RATE_LIMIT_PREAUTH: '1000000',
  RATE_LIMIT_PREAUTH_IP: '1000000',
}

/** Starts two processes with their servers; the caller closes the fleet. */
export async function startFleet(options: FleetOptions = {}): Promise<Fleet> {
  const closers: (() => Promise<unknown>)[] = []
  const close = async () => {
    for (const end of closers.toReversed()) await end()
  }
  try {
    return await assemble(options, closers, close)
  } catch (error) {
    await close()
    throw error
  }
}

async function assemble(
  options: FleetOptions,
  closers: (() => Promise<unknown>)[],
  close: () => Promise<void>,
): Promise<Fleet> {
  const databaseUrl = options.databaseUrl ?? (await makeDatabase(closers))
  const redis = await makeRedisServer()
  closers.push(() => redis.close())
  await redis.start()
  const sandbox = await startSandbox({ clock: systemClock })
  closers.push(() => sandbox.close())
  const dataDir = await mkdtemp(join(tmpdir(), 'tributary-fleet-'))
  closers.push(() => rm(dataDir, { recursive: true, force: true }))
  const environment = {
    ...roomy,
    ...providersOf(sandbox),
    DATABASE_URL: databaseUrl,
    REDIS_URL: redis.url,
    DATA_DIR: dataDir,
    ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    LOG_LEVEL: 'warn',
    ...options.env,
  }
  const start = async (env: Readonly<Record<string, string>> = {}) => {
    const server = await startServerProcess({ ...environment, ...env })
    closers.push(() => server.stop('SIGKILL'))
    return server
  }
  const [one, two] = await Promise.all([start(), start()])
  return { sandbox, redis, one, two, start, close, ...makeUsers(sandbox, one) }
}

async function makeDatabase(closers: (() => Promise<unknown>)[]): Promise<string> {
  const ground = await makePostgresGround()
  closers.push(() => ground.remove())
  return (await ground.makePlace()).databaseUrl
}

/** The variables that point a process at the emulators. */
export function providersOf({ access }: Sandbox): Record<string, string> {
  const lines = providerNames.flatMap((provider) => {
    const own = new Map<string, unknown>(Object.entries(access[provider] ?? {}))
    const { baseUrl, required, preset } = factsOf(provider).settings
    return Object.entries({ baseUrl, ...required, ...preset })
      .filter(([field]) => own.has(field))
      .map(([field, name]) => [name, String(own.get(field))])
  })
  return Object.fromEntries(lines)
}

let users = 0

/** People are made through the admin API of one process, as an operator would. */
function makeUsers(sandbox: Sandbox, server: ServerProcess) {
  async function createUser(plan = 'professional'): Promise<FleetUser> {
    users += 1
    const email = `person-${users}@example.test`
    const { body: user } = await server.admin('POST', '/users', { email, plan })
    const { body: key } = await server.admin('POST', `/users/${user.id}/keys`, {})
    return { id: user.id, key: key.key, keyId: key.id }
  }

  async function createLinked(): Promise<LinkedUser> {
    const user = await createUser()
    const { endUserId } = sandbox.fiskil.people.healthy
    const path = `/users/${user.id}/connections`
    await server.admin('POST', path, { provider: 'fiskil', endUserId })
    const { body } = await server.get('/v1/accounts', user.key)
    const account = body.data.find((row: { name: string }) => row.name === 'Everyday')
    const { connectionId, id: accountId } = account
    const base = `/v1/transactions?connectionId=${connectionId}&accountId=${accountId}`
    return { ...user, connectionId, accountId, transactions: (query = '') => base + query }
  }

  return { createUser, createLinked }
}

/** Waits until it is so; fails with `what` when it does not come about within `withinMs`. */
export async function until(
  what: string,
  isSo: () => boolean | Promise<boolean>,
  withinMs = 15_000,
): Promise<void> {
  const deadline = performance.now() + withinMs
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error(`not within ${withinMs} ms: ${what}`)
    await sleep(20)
  }
}
