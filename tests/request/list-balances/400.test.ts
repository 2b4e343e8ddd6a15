import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { plantBank } from '#tests/support/bank.ts'
import { linkBroker } from '#tests/support/broker.ts'
import { codeOf, startService } from '#tests/support/service.ts'

const service = await startService()
const user = await service.createUser()
const bank = (await plantBank(service, user, { accounts: [{}, {}] })).accounts.map((row) => row.id)
const brokerage = (await linkBroker(service, user, [{}, {}])).accounts.map((row) => row.id)
after(() => service.close())

const ask = (ids: readonly string[]) =>
  service.get(`/v1/balances?accountIds=${ids.join(',')}`, user)

for (const query of ['', '?', '?accountIds=', '?accountIds=,,,', '?accountId=x', '?AccountIds=x']) {
  test(`R11, R12: /v1/balances${query} names no account`, async () => {
    const answer = await service.get(`/v1/balances${query}`, user)
    assert.equal(answer.status, 400)
    assert.equal(codeOf(answer), 'invalid_params')
    assert.equal(answer.body.error.message, 'Invalid request parameters')
    assert.match(answer.body.error.details[0], /^accountIds: /)
  })
}

test('R11: accountIds given twice is refused', async () => {
  const answer = await service.get(`/v1/balances?accountIds=${bank[0]}&accountIds=${bank[1]}`, user)
  assert.equal(codeOf(answer), 'invalid_params')
})

test('R12: the details list each value that is not a UUID', async () => {
  const answer = await ask([bank[0] ?? '', 'not-a-uuid', `${bank[1]}0`, ` ${bank[1]}`])
  assert.equal(codeOf(answer), 'invalid_params')
  const details: string[] = answer.body.error.details
  assert.equal(details.length, 3)
  assert.match(details[0] ?? '', /^accountIds: .*not-a-uuid/)
})

test('R12: a hostile value comes back short and without control characters', async () => {
  const answer = await service.get(
    `/v1/balances?accountIds=${encodeURIComponent(`\u0000\r\n<script>${'x'.repeat(3000)}`)}`,
    user,
  )
  assert.equal(codeOf(answer), 'invalid_params')
  assert(answer.body.error.details[0].length < 120)
  assert.doesNotMatch(answer.body.error.details[0], /\p{Cc}/u)
})

test('R13: more than a hundred distinct accounts are too many, before any of them is looked up', async () => {
  const answer = await ask([...Array.from({ length: 99 }, () => randomUUID()), ...brokerage])
  assert.equal(answer.status, 400)
  assert.equal(codeOf(answer), 'too_many_accounts')
})

test('a brokerage account fails the whole request; the message lists every one and names the right endpoint', async () => {
  const answer = await ask([...bank, ...brokerage])
  assert.equal(answer.status, 400)
  assert.equal(codeOf(answer), 'wrong_endpoint_for_category')
  for (const id of brokerage) assert(answer.body.error.message.includes(id))
  for (const id of bank) assert(!answer.body.error.message.includes(id))
  assert.match(answer.body.error.message, /\/v1\/holdings/)
  assert.equal(answer.headers['x-cache'], 'MISS')
})

test('R13: an unknown account is judged before a brokerage one', async () => {
  const answer = await ask([...brokerage, randomUUID()])
  assert.equal(answer.status, 404)
})
