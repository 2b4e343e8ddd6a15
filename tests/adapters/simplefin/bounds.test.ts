/** What one answer of a SimpleFIN server may have, and that reading it leaves others their turns. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { upstreamId } from '#kernel/ids.ts'
import { call, failureOf, type Ground, loginFor, makeGround, queryFor } from './harness.ts'

const manyOf = (count: number, make: (index: number) => object) =>
  Array.from({ length: count }, (_, index) => make(index))
const bareRow = { posted: 1_795_000_000, amount: '-1.00' }
const bareAccount = (id: string, over: object = {}) => {
  return { id, conn_id: 'C0', name: 'Checking', currency: 'USD', balance: '1.00', ...over }
}
const oneBank = [{ conn_id: 'C0', name: 'Bank' }]
const twenty = { transactions: manyOf(20_000, () => bareRow) }

/** The server answers this to everything. */
function answer(ground: Ground, body: object) {
  ground.server.addFault({ does: { kind: 'reply', reply: { status: 200, body } } })
}

const tooMany: readonly (readonly [string, object, RegExp])[] = [
  [
    'connections',
    { connections: manyOf(201, (index) => ({ conn_id: `C${index}` })), accounts: [] },
    /has 201 connections; at most 200 are read/,
  ],
  [
    'organisations of version 1',
    {
      accounts: manyOf(201, (index) =>
        bareAccount(`A${index}`, { conn_id: null, org: { id: `O${index}` } }),
      ),
    },
    /has 201 connections; at most 200 are read/,
  ],
  [
    'accounts',
    { connections: oneBank, accounts: manyOf(2001, (index) => bareAccount(`A${index}`)) },
    /has 2001 accounts; at most 2000 are read/,
  ],
  [
    'errors',
    {
      accounts: [],
      errlist: manyOf(6000, () => ({ code: 'gen.api' })),
      errors: manyOf(4001, () => ({})),
    },
    /has 10001 errors; at most 10000 are read/,
  ],
  [
    'rows of one account',
    {
      connections: oneBank,
      accounts: [bareAccount('A', { transactions: manyOf(20_001, () => bareRow) })],
    },
    /has 20001 transactions of one account; at most 20000 are read/,
  ],
  [
    'rows',
    { connections: oneBank, accounts: manyOf(3, (index) => bareAccount(`A${index}`, twenty)) },
    /has 60000 transactions; at most 50000 are read/,
  ],
]

for (const [name, body, expected] of tooMany) {
  test(`an answer with more ${name} than one may have is malformed, and says so`, async () => {
    await using ground = await makeGround()
    answer(ground, body)
    const failure = await failureOf(ground.adapter.discover(loginFor(ground, 'twins'), call))
    assert.equal(failure.kind, 'malformed')
    assert.match(failure.detail, expected)
  })
}

test('other work has its turns while the rows of the largest answer are read', async () => {
  await using ground = await makeGround()
  const { adapter } = ground
  const accounts = ['A0', 'A1'].map((id) => bareAccount(id, twenty))
  answer(ground, { connections: oneBank, accounts })
  const query = queryFor(ground, 'twins')
  const [first] = query.accounts
  assert.ok(first !== undefined)
  const refs = accounts.map(({ id }) => ({ ...first, upstreamId: upstreamId(id) }))
  const connection = { ...query.connection, upstreamId: upstreamId('C0') }
  const asked = { ...query, connection, accounts: refs }
  await adapter.discover(query.login, call)
  let turns = 0
  const count = () => {
    turns += 1
    timer = setImmediate(count)
  }
  let timer = setImmediate(count)
  const page = await adapter.transactions.read(asked, null, call)
  clearImmediate(timer)
  assert.equal(page.length, 40_000)
  assert.ok(turns > 40, `${turns} turns`)
})

test('errors that are no texts are not read, however deep they are', async () => {
  await using ground = await makeGround()
  const deep = `${'['.repeat(60_000)}${']'.repeat(60_000)}`
  ground.server.addFault({
    does: {
      kind: 'reply',
      reply: {
        status: 200,
        body: `{"errors":[{"toString":1},${deep},7],"errlist":[7,{"code":7}],"connections":[{"conn_id":"C0"}],"accounts":[]}`,
      },
    },
  })
  const found = await ground.adapter.discover(loginFor(ground, 'twins'), call)
  assert.equal(found.length, 1)
})
