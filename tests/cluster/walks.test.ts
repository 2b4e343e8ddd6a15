/** Two processes on one PostgreSQL and one Redis answer the windows of one walk, without sticky load balancing. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { systemClock } from '#kernel/time.ts'
import type { FiskilSandboxRow } from '#sandbox/fiskil/index.ts'
import { type Fleet, type LinkedUser, startFleet, until } from './fleet.ts'

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

test('R19: a window of another process costs the pages that it shows, and what is new', async () => {
  plant(names(900))
  const user = await fleet.createLinked()
  await fleet.one.get(user.transactions('&limit=100'), user.key)
  const before = pages()
  for (const offset of [100, 200, 300]) {
    const answer = await fleet.two.get(user.transactions(`&limit=100&offset=${offset}`), user.key)
    assert.equal(answer.body.data[0].description, `row ${offset}`)
    assert.equal(answer.body.pagination.total, 900)
  }
  assert.equal(pages() - before, 1)
})

test('R10: a connection that is linked anew ends its walk on both processes', async () => {
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

test('R18: while Redis is unavailable each process uses a walk of its own', async () => {
  plant(names(900))
  const user = await fleet.createLinked()
  await fleet.redis.kill()
  const answer = await fleet.two.get(user.transactions('&limit=100&offset=100'), user.key)
  assert.deepEqual([answer.status, answer.body.data[0]?.description], [200, 'row 100'])
  await fleet.redis.start()
})
