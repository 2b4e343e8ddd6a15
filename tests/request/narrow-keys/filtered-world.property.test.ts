/**
 * Reading R43: a narrow key sees exactly what is left of the answers of a full key when everything outside of
 * its limits is taken out, for every operation, whatever was asked and cached before.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { byOperator } from '#contract/actor.ts'
import { type KeyScope, keyScopes } from '#contract/key-scopes.ts'
import { operations } from '#contract/operations.ts'
import type { Account, Connection, Transaction } from '#contract/resources.ts'
import { listTools } from '#contract/tool-descriptions.ts'
import type { ConnectionId } from '#kernel/ids.ts'
import { callTool, post, toolCall } from '#tests/support/agent.ts'
import {
  type Answer,
  type Service,
  type ServiceUser,
  startService,
} from '#tests/support/service.ts'
import type { SyncedEvent } from '#tests/support/synced-event.ts'
import { addNarrowKey, type NarrowLimits } from './narrow.ts'

let service: Service
let user: ServiceUser
let connections: readonly Connection[]
let accounts: readonly Account[]
/** The cursor before the events, and all of them as the full key sees them. */
let begin: string
let events: readonly SyncedEvent[]
const connectionOf = new Map<string, string>()
before(async () => {
  service = await startService()
  user = await service.createUser()
  for (const provider of ['fiskil', 'akahu', 'snaptrade', 'up'] as const) {
    await service.link(user, 'healthy', provider)
  }
  connections = (await service.get('/v1/connections', user)).body.data
  accounts = (await service.get('/v1/accounts?limit=200', user)).body.data
  assert.ok(connections.length >= 4 && accounts.length >= 8)
  begin = (await service.get('/v1/events', user)).body.next
  for (const { id } of connections) {
    await service.app.syncs.runSync(byOperator, id as ConnectionId)
    events = await listEvents(user)
    for (const event of events) if (!connectionOf.has(event.id)) connectionOf.set(event.id, id)
  }
  assert.ok(events.length >= connections.length)
})
after(() => service.close())

const unknown = '7f0c9a52-3f0e-4a57-9a3f-0d5b7a3a2a10'
const unhidden = ['x-cache', 'x-ratelimit-limit', 'x-data-as-of', 'x-service-truncated', 'sunset']

/** What a client sees of an answer besides what is new each time. */
const seen = ({ status, headers, body }: Answer) => ({
  status,
  body,
  headers: Object.fromEntries(
    unhidden.filter((name) => name !== 'x-cache').map((name) => [name, headers[name]]),
  ),
})

/** What the limits leave of the world. */
function filter({ scopes, connectionIds, accountIds }: NarrowLimits) {
  const left = accounts.filter(
    ({ id, connectionId }) =>
      (connectionIds?.includes(connectionId) ?? true) && (accountIds?.includes(id) ?? true),
  )
  const isSeen = ({ id }: Connection) =>
    accountIds === undefined
      ? (connectionIds?.includes(id) ?? true)
      : left.some(({ connectionId }) => connectionId === id)
  return {
    has: (scope: KeyScope | null) => scope === null || (scopes?.includes(scope) ?? true),
    accounts: left,
    connections: connections.filter(isSeen),
  }
}
type World = ReturnType<typeof filter>

async function assertLacks(key: ServiceUser, path: string, scope: KeyScope): Promise<void> {
  const answer = await service.get(path, key)
  assert.equal(answer.status, 403, path)
  assert.deepEqual(answer.body.error.code, 'insufficient_scope')
  assert.match(answer.body.error.message, new RegExp(` ${scope};`))
  assert.equal(answer.headers['x-cache'], 'BYPASS')
}

/** The whole lists, and every page of the accounts. */
async function checkLists(key: ServiceUser, world: World): Promise<void> {
  for (const query of ['', '?include=freshness']) {
    const full = await service.get(`/v1/connections${query}`, user)
    const narrow = await service.get(`/v1/connections${query}`, key)
    const ids = new Set(world.connections.map(({ id }) => id))
    const data = (full.body.data as Connection[]).filter(({ id }) => ids.has(id))
    assert.deepEqual(narrow.body, { data: data.map((row) => readable(row, world)) })
  }
  const all = world.accounts.length
  for (const [limit, offset] of [
    [200, 0],
    [2, 0],
    [2, 1],
    [1, all],
  ] as const) {
    const { body } = await service.get(`/v1/accounts?limit=${limit}&offset=${offset}`, key)
    const data = world.accounts.slice(offset, offset + limit)
    const hasMore = offset + data.length < all
    assert.deepEqual(body, { data, pagination: { total: all, limit, offset, hasMore } })
  }
}

/** Of the freshness, the kinds that the key may read. */
function readable<Row extends Connection | Account>(row: Row, world: World): Row {
  if (row.freshness === undefined) return row
  const kinds = Object.entries(row.freshness).filter(([kind]) => world.has(kind as KeyScope))
  return { ...row, freshness: Object.fromEntries(kinds) }
}

async function checkBalances(key: ServiceUser, world: World): Promise<void> {
  const banking = new Set(
    connections.filter(({ category }) => category === 'banking').map(({ id }) => id),
  )
  const all = accounts.filter(({ connectionId }) => banking.has(connectionId))
  const own = all.filter(({ id }) => world.accounts.some((account) => account.id === id))
  const path = (ids: readonly string[]) => `/v1/balances?accountIds=${ids.join(',')}`
  if (own.length > 0) {
    const ids = own.map(({ id }) => id)
    const full = await service.get(path(ids), user)
    const narrow = await service.get(path(ids), key)
    assert.deepEqual(seen(narrow), seen(full))
  }
  const foreign = all.find(({ id }) => !own.some((account) => account.id === id))
  if (foreign === undefined) return
  const known = own.slice(0, 1).map(({ id }) => id)
  const [hidden, nothing] = [foreign.id, unknown].map((id) => path([...known, id]))
  assert.deepEqual(
    seen(await service.get(hidden ?? '', key)),
    seen(await service.get(nothing ?? '', key)),
  )
}

const rowPaths = {
  banking: ['/v1/transactions'],
  brokerage: ['/v1/trades', '/v1/holdings'],
} as const

interface Rows {
  readonly path: string
  readonly key: ServiceUser
  readonly world: World
}

/** Every connection and account by its own id, and a connection as a whole. */
async function checkRows({ path, key, world }: Rows, connection: Connection): Promise<void> {
  const get = (query: string, as: ServiceUser) => service.get(`${path}?${query}`, as)
  const name = `connectionId=${connection.id}`
  const of = accounts.filter(({ connectionId }) => connectionId === connection.id)
  const own = of.filter(({ id }) => world.accounts.some((account) => account.id === id))
  if (!world.connections.includes(connection)) {
    const nothing = await get(`connectionId=${unknown}&accountId=${of[0]?.id}`, key)
    assert.deepEqual(seen(await get(`${name}&accountId=${of[0]?.id}`, key)), seen(nothing))
    assert.equal(nothing.body.error.code, 'connection_not_found')
    return
  }
  const from = path === '/v1/holdings' ? '' : '&from=2026-11-01&limit=500'
  const full = await get(name + from, user)
  const narrow = await get(name + from, key)
  if (full.status === 200) {
    const ids = new Set(own.map(({ id }) => id))
    const rows = (full.body.data as Transaction[]).filter(({ accountId }) => ids.has(accountId))
    assert.deepEqual(narrow.body.data, rows, `${path} ${name}`)
    if (path !== '/v1/holdings') assert.equal(narrow.body.pagination.total, rows.length)
  }
  if (path === '/v1/transactions' && full.status === 200) {
    const [all, seenRows] = await Promise.all(
      [user, key].map(
        async (as) => (await get(`${name + from}&includePending=true`, as)).body.data,
      ),
    )
    const ids = new Set(own.map(({ id }) => id))
    assert.deepEqual(
      seenRows,
      (all as Transaction[]).filter(({ accountId }) => ids.has(accountId)),
    )
  }
  for (const account of of) {
    const asked = `${name}&accountId=${account.id}${from}`
    const nothing = `${name}&accountId=${unknown}${from}`
    const isOwn = own.includes(account)
    const expected = isOwn ? await get(asked, user) : await get(nothing, key)
    assert.deepEqual(seen(await get(asked, key)), seen(expected), asked)
    if (!isOwn) assert.equal(expected.body.error.code, 'account_not_found')
  }
}

async function listEvents(as: ServiceUser): Promise<readonly SyncedEvent[]> {
  const found: SyncedEvent[] = []
  for (let after = begin; ; ) {
    const { status, body } = await service.get(`/v1/events?limit=2&after=${after}`, as)
    assert.equal(status, 200)
    if (body.data.length === 0 && body.next === after) return found
    found.push(...body.data)
    after = body.next
  }
}

/** Events of hidden connections and kinds do not exist, and rows of hidden accounts are in none. */
async function checkEvents(key: ServiceUser, world: World): Promise<void> {
  const ids = new Set(world.accounts.map(({ id }) => id as string))
  const isOwn = ({ account_id: id }: { readonly account_id: string }) => ids.has(id)
  const kinds = { 'transactions.synced': 'transactions', 'trades.synced': 'trades' } as const
  const seenIds = new Set(world.connections.map(({ id }) => id as string))
  const own = events.filter(
    ({ id, type }) => world.has(kinds[type]) && seenIds.has(connectionOf.get(id) ?? ''),
  )
  const narrow = await listEvents(key)
  const shown = new Map(narrow.map((event) => [event.id, event]))
  assert.equal(shown.size, narrow.length)
  for (const { id, data, metadata } of own) {
    const [news, updated] = [data.new.filter(isOwn), data.updated.filter(isOwn)]
    const event = shown.get(id)
    shown.delete(id)
    if (event === undefined) {
      assert.ok(news.length + updated.length === 0 && metadata.chunk > 1, id)
      continue
    }
    assert.deepEqual([event.data.new, event.data.updated], [news, updated])
    assert.ok(event.metadata.new_count >= news.length)
    const isCut = news.length < data.new.length
    if (isCut) assert.equal(event.metadata.new_count, news.length)
  }
  assert.deepEqual([...shown.keys()], [], 'nothing else is shown')
}

/** The agents' tools answer a narrow key as REST does, and all six are listed. */
async function checkTools(key: ServiceUser, world: World): Promise<void> {
  const listed = await post(service, { jsonrpc: '2.0', id: 1, method: 'tools/list' }, { as: key })
  assert.equal(listed.body.result.tools.length, 6)
  for (const operation of listTools(false)) {
    if (world.has(operation.keyScope)) continue
    const refused = await post(service, toolCall(operation.name), { as: key })
    assert.equal(refused.status, 403)
    assert.equal(refused.body.error.code, 'insufficient_scope')
    assert.equal(refused.headers['www-authenticate'], undefined)
  }
  if (!world.has('accounts')) return
  for (const [tool, path] of [
    ['list_connections', '/v1/connections'],
    ['list_accounts', '/v1/accounts'],
  ] as const) {
    const { result } = await callTool(service, key, tool)
    assert.deepEqual(result.structuredContent, (await service.get(path, key)).body)
  }
}

async function checkWorld(limits: NarrowLimits): Promise<void> {
  service.clock.advance(35 * 60_000)
  const key = await addNarrowKey(service, user, limits)
  const world = filter(limits)
  for (const { path, keyScope } of operations) {
    if (keyScope !== null && !world.has(keyScope)) await assertLacks(key, path, keyScope)
  }
  assert.equal((await service.get('/v1/categories', key)).status, 200)
  if (world.has('accounts')) await checkLists(key, world)
  if (world.has('balances')) await checkBalances(key, world)
  for (const connection of connections) {
    for (const path of rowPaths[connection.category]) {
      const scope = path.slice('/v1/'.length) as KeyScope
      if (world.has(scope)) await checkRows({ path, key, world }, connection)
    }
  }
  if (world.has('events')) await checkEvents(key, world)
  await checkTools(key, world)
}

const some = <Value>(values: readonly Value[]) =>
  fc.option(fc.subarray([...values], { minLength: 1 }), { nil: undefined, freq: 2 })

test('R43: a narrow key sees exactly the filtered world of a full key, over every operation', async () => {
  const limits = fc
    .record({
      scopes: some(keyScopes),
      connectionIds: some(connections.map(({ id }) => id)),
      accountIds: some(accounts.map(({ id }) => id)),
    })
    .map(({ scopes, connectionIds, accountIds }): NarrowLimits => {
      const isInside = ({ connectionId }: Account) => connectionIds?.includes(connectionId) ?? true
      const inside = accountIds?.filter((id) =>
        accounts.some((account) => account.id === id && isInside(account)),
      )
      return {
        ...(scopes && { scopes }),
        ...(connectionIds && { connectionIds }),
        ...(inside && inside.length > 0 && { accountIds: inside }),
      }
    })
  await fc.assert(fc.asyncProperty(limits, checkWorld), { numRuns: 8 })
})

test('R43: what a full key has cached is no answer for a narrow one, and the other way round', async () => {
  const [account] = accounts
  // With a connection of the account, two of the keys would see the same.
  const [one, other] = connections.filter(({ id }) => id !== account?.connectionId)
  assert(account !== undefined && one !== undefined && other !== undefined)
  const keys = [
    user,
    await addNarrowKey(service, user, { connectionIds: [one.id] }),
    await addNarrowKey(service, user, { connectionIds: [other.id] }),
    await addNarrowKey(service, user, { accountIds: [account.id] }),
    await addNarrowKey(service, user, { connectionIds: [one.id], scopes: ['accounts', 'trades'] }),
  ]
  const path = '/v1/connections?include=freshness&nonce=1'
  const answers = await Promise.all(keys.map((key) => service.get(path, key)))
  assert.equal(new Set(answers.map(({ text }) => text)).size, keys.length)
  assert.ok(answers.every(({ headers }) => headers['x-cache'] === 'MISS'))
  for (const [index, key] of keys.entries()) {
    const again = await service.get(path, key)
    assert.deepEqual([again.headers['x-cache'], again.text], ['HIT', answers[index]?.text])
  }
  // A key that may see the same has the same answers.
  const twin = await addNarrowKey(service, user, { connectionIds: [one.id] })
  const shared = await service.get(path, twin)
  assert.deepEqual([shared.headers['x-cache'], shared.text], ['HIT', answers[1]?.text])
})
