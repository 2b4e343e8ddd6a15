/** Who may use what (contract, Authentication; readings R25 to R27), as a client sees it. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { PlanRow } from '#store/ports/users.ts'
import { codeOf, type ServiceUser, startService } from '#tests/support/service.ts'

const service = await startService({ env: { DEFAULT_PLAN: 'none' } })
after(() => service.close())

const day = 86_400_000
const now = Date.parse('2026-11-21T02:00:00Z')
const apiPaths = [
  '/v1/categories',
  '/v1/connections',
  '/v1/accounts',
  '/v1/balances',
  '/v1/transactions',
]
const brokeragePaths = ['/v1/holdings', '/v1/trades']

type Access = 'none' | 'api' | 'brokerage'
const table: readonly (readonly [Partial<PlanRow>, Access])[] = [
  [{ plan: 'developer', status: 'active' }, 'api'],
  [{ plan: 'developer', status: 'trialing' }, 'api'],
  [{ plan: 'developer', status: 'past_due' }, 'api'],
  [{ plan: 'developer', status: 'canceled' }, 'none'],
  [{ plan: 'professional', status: 'active' }, 'brokerage'],
  [{ plan: 'professional', status: 'past_due' }, 'brokerage'],
  [{ plan: 'professional', status: 'trialing' }, 'api'],
  [{ plan: 'professional', status: 'canceled' }, 'none'],
  [{ plan: 'none' }, 'none'],
  [{ plan: null }, 'none'],
  [{ plan: 'none', grandfathered: true }, 'api'],
  [{ plan: 'none', legacyUntil: now - 14 * day + 1 }, 'api'],
  [{ plan: 'none', legacyUntil: now - 14 * day }, 'none'],
  [{ plan: 'none', legacyUntil: now + day }, 'api'],
  [{ plan: 'professional', status: 'canceled', grandfathered: true }, 'api'],
]

async function assertAccess(user: ServiceUser, access: Access, what: string): Promise<void> {
  for (const path of [...apiPaths, ...brokeragePaths]) {
    const answer = await service.get(path, user)
    const needsMore = brokeragePaths.includes(path) && access !== 'brokerage'
    if (access === 'none') {
      assert.equal(answer.status, 403, `${what} ${path}`)
      assert.deepEqual(answer.body, {
        error: { message: 'API access requires a Developer or Professional plan' },
      })
    } else if (needsMore) {
      assert.equal(answer.status, 403, `${what} ${path}`)
      assert.equal(codeOf(answer), 'professional_required')
    } else assert.notEqual(answer.status, 403, `${what} ${path}`)
    if (answer.status === 403) assert.equal(answer.headers['x-cache'], 'BYPASS')
  }
}

for (const [plan, access] of table) {
  const name = JSON.stringify(plan)
  test(`R25, R26: a plan of ${name} has ${access} access`, async () => {
    await assertAccess(await service.createUser(plan), access, name)
  })
}

test('in live mode DEFAULT_PLAN is professional for whom none was ever set, and a plan set to none stays none', async () => {
  const live = await startService({ env: { SANDBOX: 'false' } })
  const ask = async (user: ServiceUser) => (await live.get('/v1/holdings', user)).status
  try {
    const unset = await live.createUser({ plan: null })
    assert.equal(await ask(unset), 400)
    assert.equal(await ask(await live.createUser({ plan: 'none' })), 403)
    const none = {
      plan: 'none',
      status: 'active',
      legacyUntil: null,
      grandfathered: false,
    } as const
    await live.app.store.users.setPlan(unset.id, none)
    assert.equal(await ask(unset), 403)
  } finally {
    await live.close()
  }
})

test('R26: with BROKERAGE_DURING_TRIAL a trialing Professional keeps brokerage access', async () => {
  const lenient = await startService({ env: { BROKERAGE_DURING_TRIAL: 'true' } })
  try {
    const trialing = { plan: 'professional', status: 'trialing' } as const
    const answer = await lenient.get('/v1/holdings', await lenient.createUser(trialing))
    assert.equal(answer.status, 400)
    const developer = { plan: 'developer', status: 'trialing' } as const
    const refused = await lenient.get('/v1/holdings', await lenient.createUser(developer))
    assert.equal(codeOf(refused), 'professional_required')
  } finally {
    await lenient.close()
  }
})

test('R27: a change of plan counts from the next request on, warm answers or not', async () => {
  const user = await service.createUser()
  await service.link(user, 'healthy', 'snaptrade')
  const [account] = await service.accounts(user)
  const path = `/v1/holdings?connectionId=${account?.connectionId}`
  await service.get(path, user)
  assert.equal((await service.get(path, user)).headers['x-cache'], 'HIT')
  const plan = { status: 'active', legacyUntil: null, grandfathered: false } as const
  await service.app.store.users.setPlan(user.id, { plan: 'developer', ...plan })
  assert.equal(codeOf(await service.get(path, user)), 'professional_required')
  await service.app.store.users.setPlan(user.id, { plan: 'none', ...plan })
  assert.equal((await service.get('/v1/categories', user)).status, 403)
  await service.app.store.users.setPlan(user.id, { plan: 'professional', ...plan })
  assert.equal((await service.get(path, user)).status, 200)
})

test('R25: the grace of a legacy account ends while its key is in use', async () => {
  const legacyUntil = service.clock.now() - 14 * day + 10
  const user = await service.createUser({ plan: 'none', legacyUntil })
  assert.equal((await service.get('/v1/categories', user)).status, 200)
  service.clock.advance(10)
  assert.equal((await service.get('/v1/categories', user)).status, 403)
})
