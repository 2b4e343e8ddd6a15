/**
 * Two processes on one PostgreSQL and one Redis answer the windows of one query, without sticky load
 * balancing.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { request } from 'undici'
import { systemClock } from '#kernel/time.ts'
import type { FiskilSandboxRow } from '#sandbox/fiskil/index.ts'
import { modern, rpc } from '#tests/support/agent.ts'
import { type Fleet, type LinkedUser, startFleet, until } from './fleet.ts'
import type { ServerProcess } from './server-process.ts'

let fleet: Fleet
before(async () => {
  fleet = await startFleet()
})
after(() => fleet?.close())

const end = systemClock.now() - 86_400_000

/** Gives the account exactly these rows; `name` distinguishes them. */
function toRow(name: string, ageMs: number): FiskilSandboxRow {
  const at = new Date(end - ageMs).toISOString()
  const amount = { amount: '-1.00', currency: 'AUD' }
  const body = { fiskil_id: name, status: 'POSTED', posting_date_time: at, description: name }
  return { seenFromMs: 0, postsAtMs: Date.parse(at), body: { ...body, ...amount } }
}

function accountNamed(name: string) {
  for (const consent of fleet.sandbox.fiskil.people.healthy.consents) {
    for (const account of consent.accounts) {
      if (account.body.display_name === name) return { consent, account }
    }
  }
  return assert.fail(`no account is called ${name}`)
}

function plant(names: readonly string[]): void {
  const { consent, account } = accountNamed('Everyday Account')
  account.grownThrough = 1_000_000
  const ids = {
    account_id: account.body.account_id,
    arrangement_id: consent.arrangementId,
    institution_id: consent.institutionId,
  }
  account.rows = names.map((name, index) => {
    const row = toRow(name, index * 60_000)
    return { ...row, body: { ...ids, ...row.body } }
  })
}

const pages = () =>
  fleet.sandbox.fiskil.requests.filter(({ path }) => path === '/v1/banking/transactions').length
const names = (count: number) => Array.from({ length: count }, (_, index) => `row ${index}`)

/** Walks over all windows, each asked of the other process than the one before. */
async function walk(
  user: LinkedUser,
  options: { readonly limit: number; readonly first: 0 | 1; readonly between?: () => void },
): Promise<string[]> {
  const seen: string[] = []
  const servers = [fleet.one, fleet.two]
  for (let window = 0; window < 100; window += 1) {
    const server = servers[(window + options.first) % 2] ?? assert.fail()
    const query = `&limit=${options.limit}&offset=${window * options.limit}`
    const answer = await server.get(user.transactions(query), user.key)
    assert.equal(answer.status, 200, answer.text)
    seen.push(...answer.body.data.map((row: { description: string }) => row.description))
    if (answer.body.pagination.hasMore === false) return seen
    options.between?.()
  }
  return assert.fail('the walk never ends')
}

test('R18: windows of one query asked of two processes in turn show each row once while rows arrive', async () => {
  for (const first of [0, 1] as const) {
    const all = names(2_600)
    plant(all)
    const user = await fleet.createLinked()
    let arrived = 0
    const between = () => {
      arrived += 1
      const fresh = Array.from({ length: Math.min(arrived, 3) * 5 }, (_, index) => `new ${index}`)
      plant([...fresh.toReversed(), ...all])
    }
    assert.deepEqual(await walk(user, { limit: 450, first, between }), all)
  }
})

test('R18: two processes that begin one walk at once have one order of rows', async () => {
  plant(names(2_600))
  const user = await fleet.createLinked()
  // Between the first page of the one and the first page of the other a row arrives.
  fleet.sandbox.fiskil.addFault({
    times: 1,
    when: ({ path }) => path === '/v1/banking/transactions',
    does: {
      kind: 'edit',
      edit(reply) {
        const kept = JSON.parse(JSON.stringify(reply.body))
        plant(['new', ...names(2_600)])
        return { ...reply, body: kept }
      },
    },
  })
  const servers = [fleet.one, fleet.two]
  const begun = await Promise.all(
    servers.map((server, index) =>
      server.get(user.transactions(`&limit=${400 + index}&offset=0`), user.key),
    ),
  )
  const next = await Promise.all(
    servers.map((server, index) =>
      server.get(user.transactions(`&limit=${300 + index}&offset=390`), user.key),
    ),
  )
  for (const [one, two] of [begun, next]) {
    const [first, second] = [one, two].map((answer) => answer?.body.data[0].description)
    assert.equal(first, second)
  }
})

test('R19: a window of another process costs no page that was read before', async () => {
  plant(names(900))
  const user = await fleet.createLinked()
  await fleet.one.get(user.transactions('&limit=100'), user.key)
  const before = pages()
  for (const offset of [100, 200, 300]) {
    const answer = await fleet.two.get(user.transactions(`&limit=100&offset=${offset}`), user.key)
    assert.equal(answer.body.data[0].description, `row ${offset}`)
    assert.equal(answer.body.pagination.total, 900)
  }
  assert.equal(pages() - before, 0)
})

/** The ways in which a call comes: the lane answers the first two, the protocol library the batch. */
const ways = {
  'of 2025': (params: object) => ({ payload: rpc('tools/call', { ...params }), headers: {} }),
  'of 2026': (params: object) => modern('tools/call', { ...params }),
  'in a batch': (params: object) => ({ payload: [rpc('tools/call', { ...params })], headers: {} }),
}

async function callTransactions(
  server: ServerProcess,
  user: LinkedUser,
  way: keyof typeof ways,
  args: object,
) {
  const { connectionId, accountId } = user
  const { payload, headers } = ways[way]({
    name: 'list_transactions',
    arguments: { connectionId, accountId, ...args },
  })
  const { body } = await request(`${server.baseUrl}/mcp`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${user.key}`,
      ...headers,
    },
    body: JSON.stringify(payload),
  })
  const answer = [await body.json()].flat()[0] as {
    // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever fields it expects, and fails when they are absent.
    readonly result: any
  }
  const { structuredContent, content } = answer.result
  assert.deepEqual(JSON.parse(content[0].text), structuredContent)
  return { ...structuredContent, line: String(content[1].text) }
}

for (const way of Object.keys(ways) as (keyof typeof ways)[])
  test(`R18: pages of an agent that end early show each row of the snapshot once although rows were deleted meanwhile: calls ${way}`, async () => {
    const all = names(900)
    plant(all)
    const user = await fleet.createLinked()
    await fleet.one.get(user.transactions('&limit=100'), user.key)
    const gone = ['row 3', 'row 20', 'row 21', 'row 300', 'row 899']
    const { account } = accountNamed('Everyday Account')
    account.rows = account.rows.filter(({ body }) => !gone.includes(String(body.description)))
    const seen: string[] = []
    let early = 0
    for (let offset = 0, hasMore = true; hasMore; ) {
      const page = await callTransactions(fleet.two, user, way, { limit: 500, offset })
      const { data, pagination, line } = page
      seen.push(...data.map((row: { description: string }) => row.description))
      const { limit } = pagination
      hasMore = pagination.hasMore
      if (hasMore) early += Number(line.includes('(the page ends early to fit)'))
      if (hasMore) assert.ok(line.endsWith(` and offset ${offset + limit}.`), line)
      offset += limit
    }
    assert.deepEqual(seen, all)
    assert.ok(early > 3, 'it is a case')
  })

test('R10: a connection that is linked anew ends its snapshot on both processes', async () => {
  plant(names(900))
  const user = await fleet.createLinked()
  await fleet.one.get(user.transactions('&limit=100'), user.key)
  plant(['new', ...names(900)])
  const { endUserId } = fleet.sandbox.fiskil.people.healthy
  const link = { provider: 'fiskil', endUserId }
  await fleet.one.admin('POST', `/users/${user.id}/connections`, link)
  for (const server of [fleet.one, fleet.two]) {
    await until('the new row is shown', async () => {
      const { body } = await server.get(user.transactions('&limit=99&offset=0'), user.key)
      return body.data[0]?.description === 'new'
    })
  }
})

test('R18: while Redis is unavailable each process reads for itself', async () => {
  plant(names(900))
  const user = await fleet.createLinked()
  await fleet.redis.kill()
  const answer = await fleet.two.get(user.transactions('&limit=100&offset=100'), user.key)
  assert.deepEqual([answer.status, answer.body.data[0]?.description], [200, 'row 100'])
  await fleet.redis.start()
})
