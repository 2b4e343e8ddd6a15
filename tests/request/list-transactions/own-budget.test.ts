/** What our own budget stops says nothing of the provider's health (readings R21, R36). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Answer, codeOf, startService } from '#tests/support/service.ts'

const dayMs = 86_400_000
const newest = 'from=2026-11-15'

test('R36: a day’s requests that are used up are 503 with the time to midnight, open no breaker, and what was read stays readable', async (t) => {
  const service = await startService({ env: { RATE_LIMIT_HEAVY: '1000' } })
  t.after(() => service.close())
  service.clock.set(Date.parse('2026-11-20T15:00:00Z'))
  const user = await service.createUser()
  const [connection] = await service.link(user, 'history', 'simplefin')
  assert.ok(connection !== undefined)
  const ask = (query: string) =>
    service.get(`/v1/transactions?connectionId=${connection.id}&${query}`, user)
  const refused: Answer[] = []
  // The windows of two years, twice: the first readings are too old by then.
  for (let back = 0; refused.length < 5; back += 1) {
    assert.ok(back < 60, 'the budget never ends')
    if (back === 20) service.clock.advance(61 * 60_000)
    if (back === 20) assert.equal((await ask(newest)).status, 200)
    const to = new Date(service.clock.now() - ((back % 20) + 1) * 40 * dayMs).toISOString()
    const answer = await ask(`to=${to.slice(0, 10)}`)
    if (answer.status !== 200) refused.push(answer)
  }
  for (const answer of refused) {
    assert.equal(answer.status, 503)
    assert.equal(codeOf(answer), undefined)
    assert.equal(answer.headers['retry-after'], String(8 * 3600 - 60))
  }
  const again = await ask(`${newest}&limit=3`)
  assert.equal(again.status, 200, again.text)
})
