/** Reading R43: a key that allows some addresses is, from any other, a key that does not exist. */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { mintKey } from '#auth/keys.ts'
import { post, rpc } from '#tests/support/agent.ts'
import { type Answer, type ServiceUser, specified, startService } from '#tests/support/service.ts'
import { until } from '#tests/support/until.ts'
import { addNarrowKey } from './narrow.ts'

let user: ServiceUser
const service = await startService({ env: { ...specified, TRUST_PROXY: '127.0.0.1,10.9.0.0/16' } })
beforeEach(async () => {
  service.clock.advance(120_000)
  user = await service.createUser()
})
after(() => service.close())

const path = '/v1/categories'
const from = (address: string) => ({ 'x-forwarded-for': address })
const limit = (answer: Answer) =>
  ['limit', 'remaining', 'reset'].map((name) => answer.headers[`x-ratelimit-${name}`])
/** What a client sees besides what is new each time. */
const seen = ({ status, body, headers }: Answer) => {
  const { date: _date, 'x-request-id': _id, ...rest } = headers
  return { status, body, headers: rest }
}

test('R43: addresses and networks of both families are allowed, and no others', async () => {
  const addresses = ['203.0.113.0/24', '198.51.100.7', '2001:db8:1::/48', '2001:DB8:2::5']
  const key = await addNarrowKey(service, user, { addresses })
  for (const address of [
    '203.0.113.1',
    '203.0.113.255',
    '198.51.100.7',
    '::ffff:203.0.113.9',
    '::ffff:cb00:7109',
    '2001:db8:1:ffff::1',
    '[2001:db8:1::1]:443',
    '2001:db8:2::5',
    '192.0.2.1, 203.0.113.4',
    '203.0.113.4, 10.9.1.1',
  ]) {
    assert.equal((await service.get(path, key, from(address))).status, 200, address)
  }
  for (const address of [
    '203.0.114.1',
    '198.51.100.8',
    '2001:db8:2::6',
    '2001:db8:10::1',
    '203.0.113.4, 192.0.2.1',
    '203.0.113.4, nonsense',
    '203.0.113.4%eth0',
    '',
  ]) {
    assert.equal((await service.get(path, key, from(address))).status, 401, address)
  }
})

test('R43: from another address a key is answered exactly as one that does not exist', async () => {
  const key = await addNarrowKey(service, user, { addresses: ['203.0.113.0/24'] })
  const unknown = `Bearer ${mintKey().key}`
  const [here, there] = [from('203.0.113.1'), from('192.0.2.1')]
  for (const isWarm of [false, true]) {
    if (isWarm) assert.equal((await service.get(path, key, here)).status, 200)
    const refused = await service.get(path, key, there)
    assert.deepEqual(seen(refused), seen(await service.get(path, unknown, there)))
    assert.equal(refused.status, 401)
    assert.equal(refused.headers['x-ratelimit-limit'], '60')
    const agent = await post(service, rpc('tools/list'), { as: key, headers: there })
    const other = await post(service, rpc('tools/list'), { as: unknown, headers: there })
    assert.deepEqual(seen(agent), seen(other))
  }
})

test('R43: uses from another address are counted as guesses, and do not shut the owner out', async () => {
  const key = await addNarrowKey(service, user, { addresses: ['203.0.113.0/24'] })
  const [here, there] = [from('203.0.113.1'), from('192.0.2.1')]
  assert.equal((await service.get(path, key, here)).status, 200)
  for (let count = 0; count < 60; count += 1) {
    const refused = await service.get(path, key, there)
    assert.equal(refused.status, 401)
    assert.equal(refused.headers['x-ratelimit-remaining'], `${59 - count}`)
  }
  assert.equal((await service.get(path, key, there)).status, 429)
  const before = limit(await service.get(path, key, here))
  assert.equal(before[0], '60')
  service.clock.advance(2000)
  assert.equal((await service.get(path, key, here)).status, 200, 'also when it is looked up again')
})

test('R43: of two addresses that are counted as one, each is judged by itself', async () => {
  const key = await addNarrowKey(service, user, { addresses: ['2001:db8:5::1'] })
  const asked = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      service.get(path, key, from(index % 2 === 0 ? '2001:db8:5::1' : '2001:db8:5::2')),
    ),
  )
  assert.deepEqual(
    asked.map(({ status }) => status),
    asked.map((_, index) => (index % 2 === 0 ? 200 : 401)),
  )
})

test('R43: one network connection that changes its address is judged anew', async () => {
  const key = await addNarrowKey(service, user, { addresses: ['203.0.113.1'] })
  for (const address of ['203.0.113.1', '203.0.113.2', '203.0.113.1', '203.0.113.2']) {
    const { status } = await service.get(path, key, from(address))
    assert.equal(status, address === '203.0.113.1' ? 200 : 401)
  }
})

test('R43: a use from another address is no use of the key', async () => {
  const key = await addNarrowKey(service, user, { addresses: ['203.0.113.1'] })
  const lastUse = async () => {
    const keys = await service.app.store.keys.list(user.id)
    return keys.find(({ id }) => id === key.keyId)?.lastUsedAt
  }
  assert.equal((await service.get(path, key, from('203.0.113.2'))).status, 401)
  assert.equal(await lastUse(), null)
  assert.equal((await service.get(path, key, from('203.0.113.1'))).status, 200)
  await until('the use is noted', async () => (await lastUse()) !== null, 5)
})
