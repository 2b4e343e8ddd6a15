/** What a bank answers with nothing in it is kept for hours only while its session is open (R20b, R36). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  accountOf,
  adopt,
  adoptEarlier,
  call,
  failureOf,
  type Ground,
  makeGround,
  queryFor,
  walk,
} from './harness.ts'

/** The bank has nothing for the account, and its session is answered so. */
function spoil({ server }: Ground, status: number, session: object) {
  const nothing = { transactions: [], balances: [], continuation_key: null }
  server.clearFaults()
  server.addFault({
    when: ({ path }) => /\/(transactions|balances)$/.test(path),
    does: { kind: 'reply', reply: { status: 200, body: nothing } },
  })
  server.addFault({
    when: ({ path }) => path.startsWith('/sessions/'),
    does: { kind: 'reply', reply: { status, body: session } },
  })
}

const states = [
  ['unavailable', 503, {}],
  ['consent_lost', 401, { error: 'EXPIRED_SESSION' }],
] as const
for (const [kind, status, body] of states) {
  test(`R36: rows and balances without anything in them are not kept while the session is ${kind}`, async () => {
    await using ground = await makeGround()
    const login = await adoptEarlier(ground, 'twins')
    const query = await queryFor(ground, login)
    const { connection } = query
    const accounts = query.accounts.map((account) => ({ account, connection }))
    const readBalances = async () => {
      assert.ok(ground.adapter.balances !== undefined)
      return (await ground.adapter.balances({ login, accounts }, call)).balances
    }
    spoil(ground, status, body)
    assert.equal((await failureOf(walk(ground.adapter, query))).kind, kind)
    assert.equal((await failureOf(readBalances())).kind, kind)
    ground.server.clearFaults()
    assert.ok((await walk(ground.adapter, query)).rows.length > 0)
    const [balance] = await readBalances()
    assert.ok(balance !== undefined && balance.currentBalance !== null)
  })
}

test('R36: an account that has no row is asked for once in six hours while its session is open', async () => {
  await using ground = await makeGround()
  accountOf(ground, 'twins').rows = []
  const query = await queryFor(ground, await adopt(ground, 'twins'))
  const before = ground.bankCalls().length
  for (let times = 0; times < 3; times += 1) {
    assert.equal((await walk(ground.adapter, query)).rows.length, 0)
  }
  assert.equal(ground.bankCalls().length, before + 1)
})
