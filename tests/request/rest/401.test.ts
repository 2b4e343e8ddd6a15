/** Authorization headers of every form (reading R5), and keys that are no longer good (reading R27). */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { mintKey } from '#auth/keys.ts'
import { byOperator } from '#contract/actor.ts'
import { codeOf, startService } from '#tests/support/service.ts'
import { exchange } from './wire.ts'

const service = await startService()
const user = await service.createUser()
after(() => service.close())

/** One GET of the connections with these Authorization headers, as they stand. */
async function authorize(...values: readonly string[]) {
  const answer = await exchange(service.baseUrl, {
    target: '/v1/connections',
    headers: values.map((value) => ['Authorization', value] as const),
  })
  return { ...answer, code: JSON.parse(answer.text).error?.code }
}

test('R5: without a header the code is missing_authorization, and the challenge names no error', async () => {
  const answer = await authorize()
  assert.equal(answer.status, 401)
  assert.equal(answer.code, 'missing_authorization')
  assert.equal(answer.headers['www-authenticate'], 'Bearer realm="tributary"')
  assert.equal(answer.headers['x-cache'], 'BYPASS')
})

test('R5: the scheme is case-insensitive, and blanks around the token do not matter', async () => {
  for (const form of ['Bearer ', 'bearer ', 'BEARER ', 'bEaReR   ']) {
    assert.equal((await authorize(`${form}${user.key}`)).status, 200, form)
  }
  assert.equal((await authorize(`Bearer ${user.key}  `)).status, 200)
})

test('R5: anything but one bearer token is invalid_token', async () => {
  const headers = [
    '',
    'Bearer',
    'Bearer ',
    user.key,
    `Basic ${Buffer.from(`${user.key}:`).toString('base64')}`,
    `Basic ${user.key}`,
    `Token ${user.key}`,
    `Bearer${user.key}`,
    `Bearer:${user.key}`,
    `Bearer "${user.key}"`,
    `Bearer ${user.key} ${user.key}`,
    `Bearer ${user.key}, Bearer ${user.key}`,
    `Bearer ${user.key},`,
    `Bearer ${user.key.slice(0, -1)}`,
    `Bearer ${user.key}x`,
    `Bearer ${user.key.toUpperCase()}`,
    `Bearer ${mintKey().key}`,
    `Bearer ${'a'.repeat(4000)}`,
    `Bearer ${user.key}\u00e9`,
  ]
  for (const header of headers) {
    const answer = await authorize(header)
    assert.equal(answer.status, 401, header)
    assert.equal(answer.code, 'invalid_token', header)
    const challenge = answer.headers['www-authenticate']
    assert.equal(challenge, 'Bearer realm="tributary", error="invalid_token"', header)
  }
})

test('R5: two Authorization headers are two tokens, whichever comes first', async () => {
  const good = `Bearer ${user.key}`
  const pairs = [
    [good, 'Bearer other'],
    ['Bearer other', good],
    [good, good],
  ] as const
  for (const pair of pairs) {
    const answer = await authorize(...pair)
    assert.equal(answer.status, 401, pair.join(' + ').replaceAll(user.key, 'good'))
    assert.equal(answer.code, 'invalid_token')
  }
})

test('a key in the query is no key', async () => {
  const answer = await service.get(`/v1/connections?access_token=${user.key}`)
  assert.equal(codeOf(answer), 'missing_authorization')
})

test('R27: a revoked key is refused at once, even while its cached reply is warm', async () => {
  const other = await service.createUser()
  await service.get('/v1/connections', other)
  assert.equal((await service.get('/v1/connections', other)).headers['x-cache'], 'HIT')
  await service.app.store.keys.revoke(other.keyId, service.clock.now())
  const answer = await service.get('/v1/connections', other)
  assert.equal(answer.status, 401)
  assert.equal(codeOf(answer), 'invalid_token')
  assert.equal(answer.headers['x-cache'], 'BYPASS')
})

test('a key ends at the very millisecond of its expiry, warm or not', async () => {
  const owner = await service.createUser()
  const minted = mintKey()
  const now = service.clock.now()
  await service.app.store.keys.create({
    userId: owner.id,
    name: 'short',
    prefix: minted.prefix,
    hash: minted.hash,
    createdAt: now,
    expiresAt: now + 500,
  })
  const ask = () => service.get('/v1/connections', `Bearer ${minted.key}`)
  assert.equal((await ask()).status, 200)
  service.clock.advance(499)
  assert.equal((await ask()).status, 200)
  service.clock.advance(1)
  assert.equal(codeOf(await ask()), 'invalid_token')
})

test('a deleted user has no keys left', async () => {
  const gone = await service.createUser()
  assert.equal((await service.get('/v1/connections', gone)).status, 200)
  await service.app.connections.deleteUser(byOperator, gone.id)
  assert.equal(codeOf(await service.get('/v1/connections', gone)), 'invalid_token')
})
