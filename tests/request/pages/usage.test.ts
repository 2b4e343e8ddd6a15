/**
 * The page of counted requests: what is counted, the plot with its table, limits and budgets without
 * counting, and that the admin API agrees.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { request } from 'undici'
import { byOperator } from '#contract/actor.ts'
import type { ErrorEnvelope } from '#contract/resources.ts'
import { usageResults } from '#contract/usage.ts'
import { type KeyId, newId } from '#kernel/ids.ts'
import { post, toolCall } from '#tests/support/agent.ts'
import { specified } from '#tests/support/service.ts'
import type { UsageReport } from '#usage/report.ts'
import { bind, openAccess } from '../simplefin/world.ts'
import { connectAgent, type Person, startPages } from './world.ts'

const world = await startPages({ env: specified })
after(() => world.close())

async function ask(path: string, key: string): Promise<number> {
  const headers = { authorization: `Bearer ${key}` }
  const answer = await request(world.service.baseUrl + path, { headers })
  await answer.body.dump()
  return answer.statusCode
}

async function addKey({ id }: Person, name = 'budget'): Promise<string> {
  return (await world.service.app.actions.createKey(byOperator, id, { name })).key
}

async function readAdmin({ id }: Person, query = '') {
  const answer = await request(`${world.service.adminUrl}/admin/users/${id}/usage${query}`, {
    headers: { authorization: `Bearer ${world.service.adminToken}` },
  })
  const body = (await answer.body.json()) as UsageReport & ErrorEnvelope
  return { status: answer.statusCode, body }
}

/** The cells of the row that begins with this text, without the markup. */
function rowOf(text: string, first: string): string[] {
  const row = text.split('<tr ').find((part) => part.includes(`>${first}<`)) ?? ''
  return [...row.matchAll(/<td[^>]*>([^<]*)</g)].map(([, cell = '']) => cell)
}

test('303: a visitor is redirected to the sign-in and back', async () => {
  assert.equal((await world.jar().get('/usage')).location, '/sign-in?return=%2Fusage')
})

test('without requests the page says what it is for, with the one button that comes next', async () => {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  const empty = await jar.get('/usage')
  assert.match(empty.text, /In the last 30 days there was none/)
  assert.match(empty.text, /<a href="\/keys" class="button">Create a key</)
  assert.doesNotMatch(empty.text, /<svg role="img"/)
  await addKey(person)
  assert.match((await jar.get('/usage')).text, /See what can be asked for/)
})

test('requests of programs and agents are counted by day, operation and result, at once on this process, and the admin API agrees', async () => {
  const person = await world.addPerson()
  const key = await addKey(person)
  const jar = await world.enter(person)
  for (const _ of [1, 2, 3]) await ask('/v1/accounts', key)
  await ask('/v1/accounts?limit=0', key)
  await ask('/v1/transactions?connectionId=none', key)
  const agent = await connectAgent(world.service, jar)
  await post(world.service, toolCall('list_accounts'), { as: `Bearer ${agent.access_token}` })
  world.service.clock.advance(86_400_000)
  await ask('/v1/categories', key)
  // Not identified, so nobody's.
  await ask('/v1/categories', 'trib_live_unknown')
  const { status, text } = await jar.get('/usage')
  assert.equal(status, 200)
  assert.match(text, /<strong>7<\/strong> requests in the last 30 days/)
  assert.deepEqual(rowOf(text, 'List transactions'), ['programs', '1', '0', '0', '1'])
  assert.deepEqual(rowOf(text, 'List categories'), ['programs', '1', '0', '0', '0'])
  assert.match(
    text,
    /<svg role="img" aria-label="Requests by day from .* 7 in all, at most 6 on a day"/,
  )
  const { body } = await readAdmin(person)
  assert.equal(body.requests, 7)
  assert.deepEqual(
    [body.days.length, body.days.at(-1)?.requests, body.days.at(-2)?.requests],
    [30, 1, 6],
  )
  const found = body.operations.map(({ door, operation, results }) => [
    door,
    operation,
    results.HIT,
    results.MISS,
    results.refused,
  ])
  assert.deepEqual(found.sort(), [
    ['mcp', 'list_accounts', 1, 0, 0],
    ['rest', 'list_accounts', 2, 1, 1],
    ['rest', 'list_categories', 0, 1, 0],
    ['rest', 'list_transactions', 0, 0, 1],
  ])
  for (const [result, count] of Object.entries(body.results))
    assert.ok(text.includes(`<dd>${count}</dd>`), result)
  world.service.clock.advance(-86_400_000)
})

test('answers to programs that read SimpleFIN are counted under a client of their own, with what came from the cache', async () => {
  const person = await world.addPerson()
  const user = { ...person, key: await addKey(person), keyId: newId<KeyId>() }
  await world.service.link(user, 'healthy', 'fiskil')
  const program = bind(world.service, user)
  const access = await openAccess(program)
  for (const _ of [1, 2]) await program.accounts(access)
  const guess = access.replace('://', '://x')
  assert.equal((await program.read(guess, '/accounts')).status, 403, 'nobody’s')
  const { text } = await (await world.enter(person)).get('/usage')
  assert.deepEqual(rowOf(text, 'Accounts with their transactions'), [
    'SimpleFIN',
    '2',
    '1',
    '0',
    '0',
  ])
  const { body } = await readAdmin(person)
  assert.deepEqual(
    body.operations.map(({ door, operation, requests }) => [door, operation, requests]),
    [['simplefin', 'other', 2]],
  )
})

test('who moves to a zone in which it is still yesterday loses no request: the days add up to the whole', async () => {
  const person = await world.addPerson()
  const { users } = world.service.app.store
  await users.setTimezone(person.id, 'Pacific/Auckland')
  world.service.clock.set(Date.parse('2026-11-25T12:00:00Z'))
  const key = await addKey(person)
  for (const _ of [1, 2]) await ask('/v1/categories', key)
  await users.setTimezone(person.id, 'America/Los_Angeles')
  world.service.clock.advance(2000)
  await ask('/v1/categories', key)
  const { body } = await readAdmin(person)
  const ofDays = body.days.map(({ day, requests }) => [day, requests] as const)
  assert.deepEqual([body.requests, ofDays.at(-1)], [3, ['2026-11-25', 3]])
  const { text } = await (await world.enter(person)).get('/usage')
  assert.match(text, /<strong>3<\/strong> requests in the last 30 days/)
  world.service.clock.advance(86_400_000)
  const later = (await readAdmin(person)).body.days.map(({ requests }) => requests)
  assert.deepEqual(later.slice(-2), [1, 2])
})

test('refusals by a limit are counted as such', async () => {
  const person = await world.addPerson()
  const key = await addKey(person)
  const statuses = []
  for (let asked = 0; asked < 62; asked += 1) statuses.push(await ask('/v1/categories', key))
  assert.equal(statuses.filter((status) => status === 429).length, 2)
  const { body } = await readAdmin(person)
  assert.deepEqual([body.results.limited, body.results.refused, body.requests], [2, 0, 62])
})

test('what is left is shown for each key and agent, and looking counts nothing', async () => {
  const person = await world.addPerson()
  const key = await addKey(person, 'budget <b>')
  const jar = await world.enter(person)
  await connectAgent(world.service, jar, { name: 'Claude' })
  await ask('/v1/accounts', key)
  await ask('/v1/categories', key)
  for (const _ of [1, 2]) {
    const [, text = ''] = (await jar.get('/usage')).text.split('What is left now')
    const cells = rowOf(text, 'budget &lt;b&gt;')
    assert.match(cells[0] ?? '', /^58 left, all again in \d+ seconds$/)
    assert.deepEqual(cells.slice(1), ['30 left', '30 left'])
    assert.deepEqual(rowOf(text, 'Claude'), ['60 left', '30 left', '30 left'])
    assert.deepEqual(rowOf(text, 'Limit'), ['60', '30', '30'])
  }
})

test('a provider that limits requests shows what is left for this person’s key or for everybody', async () => {
  const person = await world.addPerson()
  for (const credentials of world.service.sandbox.person('healthy')) {
    await world.service.app.connections.linkConnections(byOperator, person.id, credentials)
  }
  const { text } = await (await world.enter(person)).get('/usage')
  assert.match(
    text,
    /<li>SnapTrade: <strong>\d+<\/strong> of 200 requests left in this minute, for everybody on this server\./,
  )
  assert.match(
    text,
    /<li>Up: <strong>9\d\d<\/strong> of 1,000 requests left in this hour, for your own key\./,
  )
  assert.match(text, /<li>SimpleFIN: <strong>\d+<\/strong> of 24 requests left in this day, /)
  const nobody = await world.enter(await world.addPerson())
  assert.doesNotMatch((await nobody.get('/usage')).text, /At the providers/)
})

test('another person’s requests are not on the page', async () => {
  const [one, other] = [await world.addPerson(), await world.addPerson()]
  await ask('/v1/categories', await addKey(one))
  assert.match((await (await world.enter(other)).get('/usage')).text, /there was none/)
})

test('a month of every operation and many keys stays below 100 KB, without inline style', async () => {
  const person = await world.addPerson()
  for (let made = 0; made < 20; made += 1) await addKey(person, `key ${made}`)
  const today = Math.floor(world.service.clock.now() / 86_400_000)
  const rows = Array.from({ length: 91 }, (_, back) =>
    (['rest', 'mcp'] as const).flatMap((door) =>
      (
        ['list_accounts', 'list_balances', 'list_transactions', 'list_trades', 'other'] as const
      ).flatMap((operation) =>
        usageResults.map((result) => ({
          userId: person.id,
          day: today - back,
          reader: `key ${back % 20}`,
          door,
          operation,
          result,
          requests: 1_000_000 + back,
        })),
      ),
    ),
  )
  for (const day of rows) await world.service.app.store.usage.add(day)
  const { text } = await (await world.enter(person)).get('/usage')
  assert.ok(Buffer.byteLength(text) < 100_000, String(Buffer.byteLength(text)))
  assert.doesNotMatch(text, / style=/)
})

test('the admin API answers up to ninety days, and refuses other numbers and users', async () => {
  const person = await world.addPerson()
  assert.equal((await readAdmin(person, '?days=90')).body.days.length, 90)
  assert.equal((await readAdmin(person, '?days=1')).body.days.length, 1)
  for (const bad of ['?days=0', '?days=91', '?days=x', '?days=', '?day=3', '?days=1&days=2']) {
    const { status, body } = await readAdmin(person, bad)
    assert.deepEqual([status, body.error.code], [400, 'invalid_params'], bad)
  }
  const nobody = { id: '00000000-0000-4000-8000-000000000000' } as Person
  assert.equal((await readAdmin(nobody)).status, 404)
})

test('F30: requests over a limit are told apart from failures, with a scale, values for each day and a file', async () => {
  const person = await world.addPerson()
  const key = await addKey(person)
  for (let count = 0; count < 4; count += 1) await ask('/v1/categories', key)
  await ask('/v1/transactions?connectionId=none', key)
  const jar = await world.enter(person)
  const { text } = await jar.get('/usage')
  assert.match(text, /<ul class="scale" aria-hidden="true"><li>5<\/li><li>3<\/li><li>0<\/li><\/ul>/)
  assert.match(text, /<li class="limited">Over a limit \(429\)<\/li>/)
  assert.match(
    text,
    /: 5\. Computed: 1, From the cache: 3, Over a limit \(429\): 0, Refused, failed or cut off: 1</,
  )
  assert.match(text, /<meter min="0" max="\d+" low="\d+" value="\d+" aria-label="Left of [^"]+">/)
  const file = await jar.get('/usage/download')
  assert.equal(file.headers['content-disposition'], 'attachment; filename="usage.csv"')
  const lines = file.text.trim().split('\r\n')
  assert.match(lines[0] ?? '', /day,requests,hit,miss,bypass,limited,refused,failed,disconnected$/)
  assert.equal(lines.length, 31)
  assert.match(lines.at(-1) ?? '', /^\d{4}-\d\d-\d\d,5,3,1,0,0,1,0,0$/)
})

test('each key, agent and program has its own requests by operation and result, also in the admin API and in a file', async () => {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  const [busy, quiet] = [await addKey(person, '=busy <b>'), await addKey(person, 'quiet')]
  for (const _ of [1, 2, 3]) await ask('/v1/accounts', busy)
  await ask('/v1/transactions?connectionId=none', busy)
  await ask('/v1/categories', quiet)
  const agent = await connectAgent(world.service, jar, { name: 'Claude' })
  await post(world.service, toolCall('list_accounts'), { as: `Bearer ${agent.access_token}` })
  const { body } = await readAdmin(person)
  assert.deepEqual(
    body.readers
      .map(({ kind, name, requests, results, operations }) => [
        ...[kind, name, requests, results.refused],
        operations.map((one) => `${one.operation} ${one.requests}`).join(', '),
      ])
      .sort(),
    [
      ['agent', 'Claude', 1, 0, 'list_accounts 1'],
      ['key', '=busy <b>', 4, 1, 'list_accounts 3, list_transactions 1'],
      ['key', 'quiet', 1, 0, 'list_categories 1'],
    ],
  )
  const { text } = await jar.get('/usage')
  assert.match(text, /<span class="foreign">=busy &lt;b&gt;<\/span> <small>key<\/small>/)
  assert.match(text, /List accounts: 3, List transactions: 1</)
  const file = await jar.get('/usage/download/readers')
  assert.equal(file.headers['content-disposition'], 'attachment; filename="usage-by-key.csv"')
  const lines = file.text.trim().split('\r\n')
  assert.match(lines[0] ?? '', /kind,id,name,operation,requests,hit,miss,bypass,limited,refused,/)
  assert.match(file.text, /key,[\da-f-]{36},'=busy <b>,list_transactions,1,0,0,0,0,1,0,0\r/)
  assert.equal(lines.length, 5)
})

test('requests of keys and agents that are gone, and of before they were counted apart, still count', async () => {
  const person = await world.addPerson()
  const day = Math.floor(world.service.clock.now() / 86_400_000)
  const of = { userId: person.id, day, door: 'rest', operation: 'list_accounts' } as const
  await world.service.app.store.usage.add([
    { ...of, result: 'HIT', requests: 3, reader: 'grant:gone' },
    { ...of, result: 'HIT', requests: 4, reader: 'others' },
    { ...of, result: 'HIT', requests: 5, reader: 'before' },
  ])
  const { text } = await (await world.enter(person)).get('/usage')
  assert.match(text, /<strong>12<\/strong> requests/)
  assert.match(text, /Removed keys and agents<small class="place">List accounts: 7</)
  assert.match(text, /Earlier requests<small class="place">List accounts: 5</)
})
