/** Plans that do not include it, and keys that lack the kind of data of a type that they name. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addNarrowKey } from '#tests/request/narrow-keys/narrow.ts'
import { codeOf, startService } from '#tests/support/service.ts'
import { promisePlans } from '../cases/plans.ts'

promisePlans('list_events')

test('R43: a type that a narrow key names and may not see is refused with its scope; without names it gets what it may see', async (t) => {
  const service = await startService()
  t.after(() => service.close())
  const user = await service.createUser()
  const lacking = {
    'transactions.synced': 'transactions',
    'trades.synced': 'trades',
    'connection.revoked': 'accounts',
  }
  const alone = await addNarrowKey(service, user, { scopes: ['events'] })
  for (const [type, scope] of Object.entries(lacking)) {
    const refused = await service.get(`/v1/events?types=${type}`, alone)
    assert.deepEqual([refused.status, codeOf(refused)], [403, 'insufficient_scope'])
    assert.match(refused.body.error.message, new RegExp(`lacks the scope ${scope}, which ${type}`))
    const able = await addNarrowKey(service, user, { scopes: ['events', scope as 'trades'] })
    assert.equal((await service.get(`/v1/events?types=${type}`, able)).status, 200)
    const more = `types=${Object.keys(lacking).join(',')}`
    assert.equal((await service.get(`/v1/events?${more}`, able)).status, 403)
  }
  assert.equal((await service.get('/v1/events', alone)).status, 200)
})
