/** 403, the same for every operation: plans that do not open it (readings R25 to R27). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { OperationName } from '#contract/operations.ts'
import { codeOf } from '#tests/support/service.ts'
import { askedOf, findOperation } from './operation.ts'

const subscription = { status: 'active', legacyUntil: null, grandfathered: false } as const

export function promisePlans(name: OperationName): void {
  const asked = askedOf(name)

  test(`R25: ${name} is 403 without code under a plan without API access`, async () => {
    const { service, url } = asked()
    const nobody = await service.createUser({ plan: 'none' })
    const answer = await service.get(url, nobody)
    assert.equal(answer.status, 403)
    assert.deepEqual(answer.body, {
      error: { message: 'API access requires a Developer or Professional plan' },
    })
    assert.equal(answer.headers['x-cache'], 'BYPASS')
  })

  test(`R27: ${name} is refused from the next request after a plan ended, warm answer or not`, async () => {
    const { service, user, url } = asked()
    assert.equal((await service.get(url, user)).status, 200)
    await service.app.store.users.setPlan(user.id, { plan: 'none', ...subscription })
    assert.equal((await service.get(url, user)).status, 403)
    await service.app.store.users.setPlan(user.id, { plan: 'professional', ...subscription })
    assert.equal((await service.get(url, user)).status, 200)
  })

  if (findOperation(name).access !== 'brokerage') return
  test(`R26: ${name} is professional_required under a Developer plan and in a trial`, async () => {
    const { service, url } = asked()
    for (const plan of [
      { plan: 'developer', status: 'active' },
      { plan: 'professional', status: 'trialing' },
    ] as const) {
      const answer = await service.get(url, await service.createUser(plan))
      assert.equal(answer.status, 403)
      assert.equal(codeOf(answer), 'professional_required')
      assert.equal(answer.headers['x-cache'], 'BYPASS')
    }
  })
}
