/** Accounts of which no currency is told: that of their money is shown, never the provider's usual one. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Login } from '#providers/port.ts'
import {
  adoptEarlier,
  background,
  call,
  dayMs,
  makeGround,
  queryFor,
  refsOf,
  walk,
} from './harness.ts'

type Ground = Awaited<ReturnType<typeof makeGround>>

async function currenciesOf(ground: Ground, login: Login, as = call) {
  const { found } = await refsOf(ground, login, as)
  return found.accounts?.map(({ currency }) => currency)
}

test('an adopted account has the currency of its money once its balance was read, and remembers it', async () => {
  await using ground = await makeGround()
  const login = await adoptEarlier(ground, 'foreign')
  assert.deepEqual(await currenciesOf(ground, login), [null, 'EUR'])
  const { connection, refs } = await refsOf(ground, login)
  const accounts = refs.map((account) => ({ connection, account }))
  await ground.adapter.balances?.({ login, accounts }, call)
  assert.deepEqual(await currenciesOf(ground, login), ['SEK', 'EUR'])
  ground.clock.ms += dayMs
  assert.deepEqual(await currenciesOf(ground, login), ['SEK', 'EUR'])
  assert.equal(ground.bankCalls().length, 2)
})

test('background work learns the currency from the rows that it reads next, so that it costs no call more', async () => {
  await using ground = await makeGround()
  const login = await adoptEarlier(ground, 'foreign')
  assert.deepEqual(await currenciesOf(ground, login, background), ['SEK', 'EUR'])
  const { length } = ground.bankCalls()
  assert.ok(!ground.bankCalls().some((one) => one.endsWith('/balances')))
  await walk(ground.adapter, await queryFor(ground, login), background)
  assert.equal(ground.bankCalls().length, length)
})

test('the currency is learnt from the rows that are kept', async () => {
  await using ground = await makeGround()
  const login = await adoptEarlier(ground, 'foreign')
  await walk(ground.adapter, await queryFor(ground, login))
  assert.deepEqual(await currenciesOf(ground, login), ['SEK', 'EUR'])
})

test('whether a consent is alive is asked without a call to the bank', async () => {
  await using ground = await makeGround()
  const login = await adoptEarlier(ground, 'foreign')
  assert.deepEqual(await ground.adapter.listAlive?.(login, background), [login.upstreamUserId])
  assert.deepEqual(ground.bankCalls(), [])
})
