/** Internal errors and outages: the answer has no details, the log has them, the headers are present. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { UpstreamId } from '#kernel/ids.ts'
import type { BankingAdapter } from '#providers/port.ts'
import { startService } from '#tests/support/service.ts'

const rateHeaders = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']

test('R6: when something of ours breaks, the answer is a bare 500 with every header', async () => {
  // An adapter that was put together wrongly: it has no transactions at all.
  const fiskil = {
    provider: 'fiskil',
    category: 'banking',
    access: {},
    close: async () => undefined,
  } as const
  const service = await startService({ adapters: { fiskil: fiskil as unknown as BankingAdapter } })
  try {
    const user = await service.createUser()
    const { store } = service.app
    const login = await store.logins.save({
      userId: user.id,
      provider: 'fiskil',
      upstreamUserId: 'eu_1',
      secret: null,
    })
    const connection = await store.connections.save({
      userId: user.id,
      loginId: login.id,
      provider: 'fiskil',
      upstreamId: 'consent-1' as UpstreamId,
      institutionId: '1',
      institutionName: 'Bank',
      institutionLogo: null,
      status: 'active',
      lastRefreshedAt: null,
      consentExpiresAt: null,
      createdAt: service.clock.now(),
    })
    const path = `/v1/transactions?connectionId=${connection.id}`
    const answer = await service.get(path, user, { 'x-request-id': 'broken-1' })
    assert.equal(answer.status, 500)
    assert.deepEqual(Object.keys(answer.body.error), ['message'])
    assert.doesNotMatch(answer.text, /undefined|properties/)
    for (const name of rateHeaders) assert.match(String(answer.headers[name]), /^\d+$/, name)
    assert.equal(answer.headers['x-cache'], 'MISS')
    assert.equal(answer.headers.deprecation, 'true')
    const line = service.logLines.find((text) => text.includes('broken-1'))
    assert.match(line ?? '', /"level":"error".*"cause":\{"type":"\w*Error"/)
    assert.equal((await service.get(path, user)).status, 500, 'an error is never stored')
  } finally {
    await service.close()
  }
})
