/**
 * What the fuzzer stands on: a running service, the emulated providers behind it, and users whose ids and
 * keys replace the placeholders of a request. Two of them have different people at the providers, so that a
 * mix-up would show.
 */
import { createHash } from 'node:crypto'
import { request as send } from 'undici'
import type { Credentials } from '#providers/credentials.ts'
import { sandboxProviders } from '#sandbox/magic-users.ts'
import type { Sandbox } from '#sandbox/start.ts'
import type { OpenApiDocument } from './described.ts'

/** Limits and bounds of the fuzzed service: wide enough to get through, narrow enough that a leak shows. */
export const fuzzEnvironment: Readonly<Record<string, string>> = {
  RATE_LIMIT_CHEAP: '1000000',
  RATE_LIMIT_MID: '1000000',
  RATE_LIMIT_HEAVY: '1000000',
  RATE_LIMIT_PREAUTH: '200',
  CONCURRENCY_HEAVY: '64',
  CACHE_MAX_BYTES: String(16 * 1024 * 1024),
  UPSTREAM_TIMEOUT_MS: '10000',
  REQUEST_TIMEOUT_MS: '20000',
}

interface FuzzConnection {
  readonly id: string
  readonly category: string
  readonly accounts: readonly string[]
}

export interface FuzzUser {
  readonly id: string
  readonly key: string
  readonly connections: readonly FuzzConnection[]
}

export interface Running {
  readonly baseUrl: string
  readonly adminUrl: string
  readonly adminToken: string
  readonly sandbox: Sandbox
  /** Moves the clock of service and providers together. */
  advance(ms: number): Promise<void>
}

export interface World extends Running {
  readonly port: number
  readonly document: OpenApiDocument
  readonly users: Readonly<Record<string, FuzzUser>>
  /** The real thing behind `<own.banking.0>`, `<key.own>` and their like, in any text. */
  resolve(text: string): string
  /** Calls that the providers got since the last look, by provider. */
  takeCalls(): ProviderCalls
}

export interface ProviderCalls {
  readonly snaptrade: number
  readonly simplefin: number
  readonly enablebanking: number
  readonly all: number
}

/** Makes the users through the admin API, as an operator would. */
export async function makeWorld(running: Running): Promise<World> {
  const ask = adminClient(running)
  const people = (name: 'healthy' | 'history') => running.sandbox.person(name)
  const own = await makeUser({ running, ask }, 'own', 'professional', people('history'))
  const users: Record<string, FuzzUser> = {
    own,
    other: await makeUser({ running, ask }, 'other', 'professional', people('healthy')),
    developer: await makeUser({ running, ask }, 'developer', 'developer', people('healthy')),
    planless: await makeUser({ running, ask }, 'planless', 'none', []),
    revoked: { ...own, key: await makeRevokedKey(ask, own.id) },
  }
  const described = await send(`${running.baseUrl}/openapi.json`)
  const world: World = {
    ...running,
    port: Number(new URL(running.baseUrl).port),
    document: (await described.body.json()) as OpenApiDocument,
    users,
    resolve: (text) =>
      text.replace(/<([a-z.0-9]{1,40})>/g, (whole, name) => find(users, name) ?? whole),
    takeCalls() {
      const { snaptrade, simplefin, enablebanking } = running.sandbox
      const budgeted = {
        snaptrade: snaptrade.requests.length,
        simplefin: simplefin.requests.length,
        enablebanking: enablebanking.requests.length,
      }
      const counts = sandboxProviders.map((name) => running.sandbox[name].requests.splice(0).length)
      return { ...budgeted, all: counts.reduce((sum, count) => sum + count, 0) }
    },
  }
  world.takeCalls()
  return world
}

function find(users: Readonly<Record<string, FuzzUser>>, name: string): string | undefined {
  const [owner = '', category = '', connection, account] = name.split('.')
  if (owner === 'key') return users[category]?.key
  const all = users[owner]?.connections.filter((one) => one.category === category) ?? []
  const found = all[Number(connection) % all.length]
  if (account === undefined || found === undefined) return found?.id
  return found.accounts[Number(account) % found.accounts.length]
}

type Ask = (method: 'GET' | 'POST' | 'DELETE', path: string, body?: object) => Promise<unknown>

function adminClient(running: Running): Ask {
  return async (method, path, body) => {
    const answer = await send(`${running.adminUrl}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${running.adminToken}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      body: body === undefined ? null : JSON.stringify(body),
    })
    const text = await answer.body.text()
    if (answer.statusCode >= 300)
      throw new Error(`${method} ${path} → ${answer.statusCode} ${text}`)
    return text === '' ? null : JSON.parse(text)
  }
}

async function makeUser(
  { running, ask }: { readonly running: Running; readonly ask: Ask },
  name: string,
  plan: string,
  people: readonly Credentials[],
): Promise<FuzzUser> {
  const { id } = (await ask('POST', '/admin/users', { email: `${name}@fuzz.example`, plan })) as {
    id: string
  }
  for (const person of people) await ask('POST', `/admin/users/${id}/connections`, person)
  const { key } = (await ask('POST', `/admin/users/${id}/keys`, {})) as { key: string }
  if (people.length === 0) return { id, key, connections: [] }
  const list = async (path: string) => {
    const headers = { authorization: `Bearer ${key}` }
    const answer = await send(`${running.baseUrl}${path}`, { headers })
    return ((await answer.body.json()) as { data: { id: string }[] }).data
  }
  const accounts = (await list('/v1/accounts?limit=200')) as { id: string; connectionId: string }[]
  const connections = (await list('/v1/connections')) as { id: string; category: string }[]
  return {
    id,
    key,
    connections: connections
      .map((connection) => ({
        id: connection.id,
        category: connection.category,
        accounts: accounts.filter((one) => one.connectionId === connection.id).map((one) => one.id),
      }))
      // Ids are new in every run: the order must not hang on them, or a seed would mean something else.
      .toSorted((left, right) => left.accounts.length - right.accounts.length),
  }
}

async function makeRevokedKey(ask: Ask, userId: string): Promise<string> {
  const made = (await ask('POST', `/admin/users/${userId}/keys`, {})) as { id: string; key: string }
  await ask('DELETE', `/admin/keys/${made.id}`)
  return made.key
}

/** A short name for a row of a provider, so that hundreds of thousands of them fit into memory. */
export function fingerprint(text: string): string {
  return createHash('md5').update(text).digest('base64').slice(0, 12)
}
