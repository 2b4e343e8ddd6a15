/** Balances of banks at Enable Banking, and what is shown of accounts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Balance } from '#contract/resources.ts'
import type { Login } from '#providers/port.ts'
import {
  accountOf,
  adopt,
  call,
  dayMs,
  failureOf,
  type Ground,
  link,
  makeGround,
  personOf,
  press,
  queryFor,
  refsOf,
  walk,
} from './harness.ts'

async function balancesOf(ground: Ground, login: Login): Promise<readonly Balance[]> {
  const { connection, refs } = await refsOf(ground, login, press)
  const accounts = refs.map((account) => ({ account, connection }))
  return (await ground.adapter.balances?.({ login, accounts }, call))?.balances ?? []
}

test('balances: booked and available by their kinds, XXX by the money itself, a card by its only one', async () => {
  await using ground = await makeGround()
  const login = await link(ground, 'foreign')
  const { found } = await refsOf(ground, login, press)
  assert.deepEqual(
    found.accounts?.map(({ currency }) => currency),
    ['SEK', 'EUR'],
  )
  const [konto, card] = await balancesOf(ground, login)
  assert.equal(konto?.currency, 'SEK')
  assert.equal(konto?.currentBalance, konto?.availableBalance)
  assert.deepEqual(
    [card?.currentBalance, card?.availableBalance, card?.currency],
    ['-120.00', null, 'EUR'],
  )
})

test('of several balances of a kind the newest in the account’s currency counts', async () => {
  await using ground = await makeGround()
  const login = await adopt(ground, 'twins')
  const { connection, refs } = await refsOf(ground, login)
  const balance = (
    amount: string,
    balance_type: string,
    reference_date: string | null,
    currency = 'EUR',
  ) => ({
    ...{ name: null, balance_amount: { currency, amount }, balance_type, reference_date },
  })
  ground.server.addFault({
    when: ({ path }) => path.endsWith('/balances'),
    does: {
      kind: 'edit',
      edit: (reply) => ({
        ...reply,
        body: {
          balances: [
            balance('1.00', 'CLBD', '2026-11-17'),
            balance('99.00', 'CLBD', '2026-11-19', 'USD'),
            balance('-2.50', 'CLBD', '2026-11-18'),
            balance('5.00', 'FWAV', null),
            balance('7.00', 'CLAV', null),
          ],
        },
      }),
    },
  })
  const accounts = refs.map((account) => ({ account, connection }))
  const [found] = (await ground.adapter.balances?.({ login, accounts }, call))?.balances ?? []
  assert.deepEqual(
    [found?.currentBalance, found?.availableBalance, found?.currency],
    ['-2.50', '7.00', 'EUR'],
  )
  assert.ok(ground.oddities.includes('an account has balances in several currencies'))
})

const troubles = [
  [429, { error: 'ASPSP_RATE_LIMIT_EXCEEDED' }, 'throttled'],
  [400, { error: 'ASPSP_ERROR' }, 'unavailable'],
  [408, { error: 'ASPSP_TIMEOUT' }, 'unavailable'],
  [502, '<html>Bad gateway</html>', 'unavailable'],
  [200, '<html>Welcome</html>', 'malformed'],
  [200, {}, 'malformed'],
  [200, null, 'malformed'],
] as const
for (const [status, body, kind] of troubles) {
  test(`an account whose balance cannot be read leaves the others theirs: ${status} ${JSON.stringify(body)}`, async () => {
    await using ground = await makeGround()
    const login = await adopt(ground, 'healthy')
    const { connection, refs } = await refsOf(ground, login)
    const accounts = refs.map((account) => ({ account, connection }))
    const read = () => ground.adapter.balances?.({ login, accounts }, call) ?? assert.fail()
    const { uid } = JSON.parse(login.secret ?? '{}').session.accounts[0]
    const fail = (which: string) =>
      ground.server.addFault({
        when: ({ path }) => path.endsWith('/balances') && path.includes(which),
        does: { kind: 'reply', reply: { status, body } },
      })
    fail(uid)
    const { balances } = await read()
    assert.ok(refs.length > 1)
    assert.deepEqual(
      balances.map(({ accountId }) => accountId),
      refs.slice(1).map(({ id }) => id),
    )
    fail('')
    ground.clock.ms += dayMs + 1
    assert.equal((await failureOf(read())).kind, kind)
  })
}

test('numbers of accounts are never shown whole: not in names, masks or secrets', async () => {
  await using ground = await makeGround()
  const login = await link(ground, 'numbers')
  const { found } = await refsOf(ground, login)
  assert.deepEqual(
    found.accounts?.map(({ name, accountNumber }) => [name, accountNumber]),
    [
      ['Compte xxxx6769', 'xxxx6769'],
      ['Carte Or', 'xxxx4455'],
      ['Banque des Lis', null],
    ],
  )
  assert.ok(!`${JSON.stringify(found)}${login.secret}`.includes('096123456769'))
})

test('an account that is not linked in the control panel is left out of balances, and says why by its rows', async () => {
  await using ground = await makeGround()
  accountOf(ground, 'healthy', 1).isHidden = true
  const login = await link(ground, 'healthy')
  const { refs, connection } = await refsOf(ground, login)
  assert.equal(refs.length, 2)
  const accounts = refs.map((account) => ({ account, connection }))
  assert.equal((await ground.adapter.balances?.({ login, accounts }, call))?.balances.length, 2)
  personOf(ground, 'healthy').accounts = []
  const query = await queryFor(ground, await adopt(ground, 'twins'))
  const gone = { ...query, login }
  assert.equal((await failureOf(walk(ground.adapter, gone))).kind, 'account_gone')
})
