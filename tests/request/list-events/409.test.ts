/** More consumers than a person may have. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
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
