/** What the engine's storage does when two requests redeem one code or refresh token at once. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Adapter } from 'oidc-provider'
import { openSqliteStore } from '#tests/contract/store/place.ts'
import { addUser, now } from '#tests/contract/store/rows.ts'
import { makeAdapterFactory } from './adapter.ts'
import { toRowId } from './row-id.ts'

for (const model of ['AuthorizationCode', 'RefreshToken'] as const) {
  test(`OAuth 2.1 §4.1.3, §4.3.1: a ${model} that is redeemed twice is refused, and its grant is gone`, async (t) => {
    const store = await openSqliteStore(t)
    const { id: accountId } = await addUser(store)
    const reused: unknown[] = []
    const make = makeAdapterFactory({
      store: store.oauth,
      forStranger: store.forStranger,
      clock: { now: () => now },
      origin: () => null,
      alreadyUsed: () => new Error('already used'),
      tooManyPending: () => new Error('too many'),
      onReuse: ({ clientId }) => reused.push(clientId),
      onDamaged: (error) => assert.fail(error),
    })
    const of = (name: string) => make(name) as Adapter
    await of('Grant').upsert('grant', { accountId, clientId: 'agent' }, 60)
    await of(model).upsert('token', { grantId: 'grant', clientId: 'agent' }, 60)
    await of('AccessToken').upsert('access', { grantId: 'grant', clientId: 'agent' }, 60)
    await of(model).consume('token')
    assert.notEqual(await store.oauth.findGrant(toRowId('Grant', 'grant')), null)
    assert.deepEqual(reused, [])
    await assert.rejects(async () => of(model).consume('token'), /already used/)
    assert.equal(await store.oauth.findGrant(toRowId('Grant', 'grant')), null)
    assert.equal(await of('AccessToken').find('access'), undefined)
    assert.deepEqual(reused, ['agent'])
  })
}
