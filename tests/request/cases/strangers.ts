/** 401, the same for every operation: who brings no key or a bad one (readings R5 and R27). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mintKey } from '#auth/keys.ts'
import type { OperationName } from '#contract/operations.ts'
import { type Answer, codeOf } from '#tests/support/service.ts'
import { askedOf } from './operation.ts'

function assertRefused(answer: Answer, code: string): void {
  assert.equal(answer.status, 401)
  assert.equal(codeOf(answer), code)
  assert.equal(answer.headers['x-cache'], 'BYPASS')
  assert.match(String(answer.headers['www-authenticate']), /^Bearer realm="tributary"/)
  assert.ok(Number(answer.headers['x-ratelimit-limit']) > 0)
}

export function promiseRefusedStrangers(name: OperationName): void {
  const asked = askedOf(name)

  test(`R5: ${name} without a key is missing_authorization`, async () => {
    const { service, url } = asked()
    assertRefused(await service.get(url), 'missing_authorization')
  })

  test(`R5: ${name} with a key that nobody has is invalid_token`, async () => {
    const { service, url } = asked()
    assertRefused(await service.get(url, `Bearer ${mintKey().key}`), 'invalid_token')
    assertRefused(await service.get(url, 'Basic bm9ib2R5Og=='), 'invalid_token')
  })

  test(`R27: ${name} refuses a revoked key at once, even while its answer is warm`, async () => {
    const { service, user, url } = asked()
    assert.equal((await service.get(url, user)).status, 200)
    await service.app.store.keys.revoke(user.keyId, service.clock.now())
    assertRefused(await service.get(url, user), 'invalid_token')
  })
}
