import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { specified, startService } from '#tests/support/service.ts'

const service = await startService({ env: specified })
const user = await service.createUser({ plan: 'developer' })
after(() => service.close())

/** Typed off the contract, on purpose not imported from the code. */
const expected = [
  ['BANK_FEES', 'Bank Fees'],
  ['ENTERTAINMENT', 'Entertainment'],
  ['FOOD_AND_DRINK', 'Food & Drink'],
  ['GOVERNMENT_AND_NON_PROFIT', 'Government & Non-Profit'],
  ['HOME_IMPROVEMENT', 'Home Improvement'],
  ['INCOME', 'Income'],
  ['LOAN_PAYMENTS', 'Loan Payments'],
  ['MEDICAL', 'Medical'],
  ['MERCHANDISE', 'Merchandise'],
  ['PERSONAL_CARE', 'Personal Care'],
  ['RENT_AND_UTILITIES', 'Rent & Utilities'],
  ['SERVICES', 'Services'],
  ['TRANSFER_IN', 'Transfer In'],
  ['TRANSFER_OUT', 'Transfer Out'],
  ['TRANSPORTATION', 'Transportation'],
  ['TRAVEL', 'Travel'],
]

test('the sixteen categories in their order, and nothing else', async () => {
  const answer = await service.get('/v1/categories', user)
  assert.equal(answer.status, 200)
  assert.deepEqual(answer.body, { categories: expected.map(([key, label]) => ({ key, label })) })
  assert.equal(answer.headers['x-ratelimit-limit'], '60')
})

test('R8: cached for an hour and not a millisecond more', async () => {
  service.clock.advance(7_200_000)
  const cached = async () => (await service.get('/v1/categories', user)).headers['x-cache']
  assert.equal(await cached(), 'MISS')
  service.clock.advance(3_599_999)
  assert.equal(await cached(), 'HIT')
  service.clock.advance(1)
  assert.equal(await cached(), 'MISS')
})

test('the categories that transactions carry are among them', async () => {
  await service.link(user, 'healthy')
  const keys = new Set(expected.map(([key]) => key))
  const seen = new Set<string>()
  const { data } = (await service.get('/v1/connections', user)).body
  for (const { id, category } of data) {
    if (category !== 'banking') continue
    const answer = await service.get(`/v1/transactions?connectionId=${id}&limit=500`, user)
    for (const row of answer.body.data) if (row.category !== null) seen.add(row.category)
  }
  assert(seen.size > 5)
  for (const key of seen) assert(keys.has(key), key)
})
