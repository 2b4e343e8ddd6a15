/**
 * Several simulated processes in one: apps of their own, with their own listeners, pools and memory, over one
 * PostgreSQL and one Redis. Argument: `ProcessesOptions` as JSON. The users are made by the first of them.
 */
import { mkdtemp } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { type App, openApp } from '#app/app.ts'
import { hashKey, mintKey } from '#auth/keys.ts'
import { byOperator } from '#contract/actor.ts'
import { systemClock } from '#kernel/time.ts'
import type { ProviderAccess } from '#providers/adapters.ts'
import type { Credentials } from '#providers/credentials.ts'
import { loadSecrets } from '#settings/secrets.ts'
import { readConfig } from '#src/config.ts'
import { makeLog } from '#telemetry/log.ts'
import { makeMetrics } from '#telemetry/metrics.ts'
import { storeKey } from '../ground.ts'
import { serveChild } from '../serve.ts'

export interface ProcessesOptions {
  readonly count: number
  readonly users: number
  readonly databaseUrl: string
  readonly redisUrl: string
  readonly access: ProviderAccess
  /** Whose consents every user has. */
  readonly people: readonly Credentials[]
}

export interface ProcessesFacts {
  readonly ports: readonly number[]
  /** Answers how many messages were sent to PostgreSQL so far, each of which is waited for. */
  readonly countPort: number
  readonly users: readonly {
    readonly key: string
    readonly connectionId: string
    readonly accountId: string
  }[]
}

const uncounted = '100000000'

async function openOne({ databaseUrl, redisUrl, access }: ProcessesOptions) {
  const config = readConfig({
    PORT: '0',
    ADMIN_PORT: '0',
    DATA_DIR: await mkdtemp(join(tmpdir(), 'tributary-bench-')),
    SANDBOX: 'true',
    // Background syncs would be measured too.
    ROLE: 'api',
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    ENCRYPTION_KEY: Buffer.from(storeKey).toString('base64'),
    RATE_LIMIT_CHEAP: uncounted,
    RATE_LIMIT_MID: uncounted,
    RATE_LIMIT_HEAVY: uncounted,
    CONCURRENCY_HEAVY: '1000',
  })
  const app = await openApp({
    config,
    secrets: await loadSecrets(config),
    access,
    clock: systemClock,
    log: makeLog({ level: 'info' }),
    metrics: makeMetrics(),
    checkReplies: false,
  })
  const { origins } = await app.listen()
  return { app, port: Number(new URL(origins.base).port) }
}

async function addUser({ store, connections }: App, people: ProcessesOptions['people']) {
  const { key, prefix } = mintKey()
  const user = await store.users.create({
    email: `${prefix}@example.test`,
    timezone: null,
    plan: 'professional',
    status: 'active',
    legacyUntil: null,
    grandfathered: false,
    createdAt: systemClock.now(),
  })
  if (user === 'taken') throw new Error('the store is not new')
  const own = { userId: user.id, name: 'bench', prefix, hash: hashKey(key) }
  await store.keys.create({ ...own, createdAt: systemClock.now(), expiresAt: null })
  for (const credentials of people)
    await connections.linkConnections(byOperator, user.id, credentials)
  const accounts = await store.accounts.list(user.id)
  const account = accounts.find(({ name }) => name === 'Everyday')
  if (account === undefined) throw new Error('the person has no such account')
  return { key, connectionId: account.connectionId, accountId: account.id }
}

/** Statements that are sent together count once. */
function countMessages(): Promise<number> {
  let count = 0
  const { query } = Client.prototype
  Client.prototype.query = function (this: Client, ...given: unknown[]) {
    count += 1
    return Reflect.apply(query, this, given)
  } as typeof query
  const server = createServer((_request, response) => response.end(String(count)))
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port))
  })
}

const countPort = await countMessages()
const options: ProcessesOptions = JSON.parse(process.argv[2] ?? '{}')
const opened: { readonly app: App; readonly port: number }[] = []
for (let count = 0; count < options.count; count += 1) opened.push(await openOne(options))
const [first] = opened
if (first === undefined) throw new Error('there is no process')
const users: Awaited<ReturnType<typeof addUser>>[] = []
for (let count = 0; count < options.users; count += 1)
  users.push(await addUser(first.app, options.people))
const facts: ProcessesFacts = { countPort, ports: opened.map(({ port }) => port), users }
serveChild(facts)
