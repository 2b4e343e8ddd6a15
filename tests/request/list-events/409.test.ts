/** More consumers than a person may have. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { byOperator } from '#contract/actor.ts'
import { addNarrowKey } from '#tests/request/narrow-keys/narrow.ts'
import { codeOf, startService } from '#tests/support/service.ts'

test('R42: of fifty consumers twenty are made, and the others are told what to do', async (t) => {
  const service = await startService()
  t.after(() => service.close())
  const user = await service.createUser()
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, at) => service.get(`/v1/events?consumer=c${at}`, user)),
  )
  assert.equal(answers.filter(({ status }) => status === 200).length, 20)
  for (const answer of answers.filter(({ status }) => status !== 200)) {
    assert.equal(answer.status, 409)
    assert.equal(codeOf(answer), 'too_many_consumers')
    assert.match(answer.body.error.message, /\/events/)
  }
  const [known] = await service.app.store.consumers.list(user.id)
  assert.equal((await service.get(`/v1/events?consumer=${known?.name}`, user)).status, 200)
})

test('R43: consumers of narrow keys take no places of others, and cannot count them', async (t) => {
  const service = await startService({ env: { RATE_LIMIT_CHEAP: '0' } })
  t.after(() => service.close())
  const user = await service.createUser()
  for (const consumer of ['books', 'alerts']) {
    assert.equal((await service.get(`/v1/events?consumer=${consumer}`, user)).status, 200)
  }
  const narrow = await addNarrowKey(service, user, { scopes: ['events', 'trades'] })
  const statuses: number[] = []
  for (let at = 0; at < 21; at += 1) {
    statuses.push((await service.get(`/v1/events?consumer=c${at}`, narrow)).status)
  }
  assert.deepEqual(statuses, [...Array.from({ length: 20 }, () => 200), 409])
  assert.equal((await service.get('/v1/events?consumer=more', user)).status, 200)
  const other = await addNarrowKey(service, user, { scopes: ['events', 'transactions'] })
  assert.equal((await service.get('/v1/events?consumer=c0', other)).status, 200)
})

test('R43: narrow keys that come and go leave at most a hundred consumers, and the person is told what to do', async (t) => {
  const service = await startService({ env: { RATE_LIMIT_CHEAP: '0' } })
  t.after(() => service.close())
  const user = await service.createUser()
  const scopes = ['accounts', 'balances', 'transactions', 'holdings', 'trades', 'events'] as const
  for (let sight = 0; sight < 6; sight += 1) {
    const key = await addNarrowKey(service, user, { scopes: [...scopes.slice(sight), 'events'] })
    const names = Array.from({ length: 20 }, (_, at) => `/v1/events?consumer=c${at}`)
    const answers = await Promise.all(names.map((name) => service.get(name, key)))
    const refused = sight === 5 ? 20 : 0
    assert.equal(answers.filter(({ status }) => status === 409).length, refused)
    await service.app.actions.revokeKey(byOperator, key.keyId)
  }
  const consumers = await service.app.store.consumers.list(user.id)
  assert.equal(consumers.length, 100)
  const full = await service.get('/v1/events', user)
  assert.equal(full.status, 409)
  assert.equal(codeOf(full), 'too_many_consumers')
  assert.match(full.body.error.message, /100 .*narrow keys.*remove one on the page \/events/)
  assert.ok(consumers[0])
  await service.app.store.consumers.delete(consumers[0].id)
  assert.equal((await service.get('/v1/events', user)).status, 200)
})
