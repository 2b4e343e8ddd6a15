import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { makeAdapters } from '#providers/adapters.ts'
import type { Adapters, BankingAdapter } from '#providers/port.ts'
import { type Sandbox, startSandbox } from '#sandbox/start.ts'
import { plantBank } from '#tests/support/bank.ts'
import { openReadings } from '#tests/support/readings.ts'
import { codeOf, makeStillClock, type Service, startService } from '#tests/support/service.ts'

let service: Service
let sandbox: Sandbox
before(async () => {
  const clock = makeStillClock()
  sandbox = await startSandbox({ clock })
  const adapters = makeAdapters({
    access: sandbox.access,
    timeoutMs: 2000,
    clock,
    report: { exchange: () => {}, alert: () => {}, oddity: () => {} },
    budget: () => async () => ({ allowed: true }),
    readings: openReadings(clock),
  })
  service = await startService({ clock, adapters: withoutBalances(adapters) })
})
after(async () => {
  await service.close()
  await sandbox.close()
})

/** The real adapters, of which Akahu's has lost its balances. */
function withoutBalances(adapters: Adapters): Adapters {
  const { akahu } = adapters
  assert(akahu?.category === 'banking')
  const { balances: _balances, ...poorer }: BankingAdapter = akahu
  return { ...adapters, akahu: poorer }
}

test('a provider without balances answers 501 without code, and the message names it', async () => {
  const user = await service.createUser()
  const bank = await plantBank(service, user, { provider: 'akahu', accounts: [{}] })
  const fiskil = await plantBank(service, user, { accounts: [{}] })
  const ids = [fiskil.accounts[0]?.id, bank.accounts[0]?.id].join(',')
  const answer = await service.get(`/v1/balances?accountIds=${ids}`, user)
  assert.equal(answer.status, 501)
  assert.equal(codeOf(answer), undefined)
  assert.match(answer.body.error.message, /^Balances are not yet available for provider: akahu/)
  assert.equal(answer.headers['x-cache'], 'MISS')
})

test('R13: unknown ids and brokerage ids are judged before it', async () => {
  const user = await service.createUser()
  const bank = await plantBank(service, user, { provider: 'akahu', accounts: [{}] })
  const broker = await plantBank(service, user, { provider: 'snaptrade', accounts: [{}] })
  const akahu = bank.accounts[0]?.id
  const unknown = await service.get(`/v1/balances?accountIds=${akahu},${randomUUID()}`, user)
  assert.equal(unknown.status, 404)
  const mixed = await service.get(
    `/v1/balances?accountIds=${akahu},${broker.accounts[0]?.id}`,
    user,
  )
  assert.equal(codeOf(mixed), 'wrong_endpoint_for_category')
})
