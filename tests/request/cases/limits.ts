/** 429, the same for every operation: its bucket is used up (readings R6 and R7; contract, Limits). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { OperationName } from '#contract/operations.ts'
import { codeOf, specified } from '#tests/support/service.ts'
import { askedOf, findOperation } from './operation.ts'

/** Typed off the contract, on purpose not imported from the code. */
const perMinute = { cheap: 60, mid: 30, heavy: 30 }

export function promiseLimits(name: OperationName): void {
  const asked = askedOf(name, specified)
  const size = perMinute[findOperation(name).bucket]

  test(`R7: ${name} answers ${size} times a minute, then 429 until the window ends`, async () => {
    const { service, user, url } = asked()
    for (let count = 1; count <= size; count += 1) {
      const answer = await service.get(url, user)
      assert.equal(answer.status, 200)
      assert.equal(answer.headers['x-ratelimit-limit'], String(size))
      assert.equal(answer.headers['x-ratelimit-remaining'], String(size - count))
    }
    service.clock.advance(20_000)
    const refused = await service.get(url, user)
    assert.equal(refused.status, 429)
    assert.deepEqual(refused.body, { error: { message: 'Too many requests' } })
    assert.equal(codeOf(refused), undefined)
    assert.equal(refused.headers['retry-after'], '40')
    assert.equal(refused.headers['x-ratelimit-remaining'], '0')
    assert.equal(refused.headers['x-cache'], 'BYPASS')
    service.clock.advance(40_000)
    assert.equal((await service.get(url, user)).status, 200)
  })

  test(`R7: another key of another user has its own window for ${name}`, async () => {
    const { service, operation } = asked()
    const other = await service.createUser()
    const answer = await service.get(operation.path, other)
    assert.equal(answer.headers['x-ratelimit-remaining'], String(size - 1))
  })
}
