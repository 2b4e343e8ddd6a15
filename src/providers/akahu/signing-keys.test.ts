/** The keys of Akahu's webhooks: fetches are limited in number and time, whatever ids a sender names. */
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { UpstreamError } from '../failure.ts'
import type { AkahuClient } from './client.ts'
import { makeSigningKeys, type SigningKeysOptions } from './signing-keys.ts'

const hour = 3_600_000
const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const pem = publicKey.export({ type: 'pkcs1', format: 'pem' })
const toBody = (item: unknown) => Buffer.from(JSON.stringify({ success: true, item }))

type Answer = AkahuClient['asApp']

function makeGround(answer: Answer = async () => toBody(pem), timeoutMs?: number) {
  let now = Date.parse('2026-11-20T21:15:00Z')
  const targets: string[] = []
  const options: SigningKeysOptions = {
    client: {
      asApp(request, call) {
        targets.push(request.target)
        return answer(request, call)
      },
    },
    clock: { now: () => now },
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  }
  const keys = makeSigningKeys(options)
  const pass = (ms: number) => {
    now += ms
  }
  const { confirm } = keys
  return {
    confirm,
    /** For a webhook that names no login. */
    find: (id: number) => keys.find(id, async () => null),
    /** For one that names a login of ours. */
    findOwn: (id: number, login = 'ours') => keys.find(id, async () => login),
    targets,
    pass,
  }
}

const notFound: Answer = async () => {
  throw new UpstreamError('akahu', { kind: 'rejected', status: 404, detail: 'Not found' })
}

const failureOf = async (work: Promise<unknown>) => {
  try {
    await work
  } catch (error) {
    if (error instanceof UpstreamError) return error.failure.kind
    throw error
  }
  return assert.fail('it succeeded')
}

test('a key is fetched once in 24 hours, and again after them', async () => {
  const { find, targets, pass } = makeGround()
  assert.ok((await find(3))?.equals(publicKey))
  pass(23 * hour)
  assert.ok(await find(3))
  assert.deepEqual(targets, ['/keys/3'])
  pass(hour + 1)
  assert.ok(await find(3))
  assert.equal(targets.length, 2)
})

test('a clock that was set back makes no key last longer', async () => {
  const { find, targets, pass } = makeGround()
  await find(3)
  pass(-48 * hour)
  await find(3)
  assert.equal(targets.length, 2)
})

test('many webhooks that wait for one key cost one fetch', async () => {
  const { find, targets } = makeGround()
  const found = await Promise.all(Array.from({ length: 50 }, () => find(3)))
  assert.ok(found.every((key) => key?.equals(publicKey)))
  assert.equal(targets.length, 1)
})

test('once a newer key was confirmed, an older one is refused, also while it is remembered', async () => {
  const { find, confirm, targets } = makeGround()
  await find(3)
  await find(4)
  assert.ok(await find(3))
  confirm(4)
  assert.equal(await find(3), null)
  assert.ok(await find(4))
  confirm(3)
  assert.equal(await find(3), null)
  assert.deepEqual(targets, ['/keys/3', '/keys/4'])
})

test('an invented key id causes no key in use to be refused', async () => {
  const { find } = makeGround((request, call) =>
    request.target === '/keys/3' ? Promise.resolve(toBody(pem)) : notFound(request, call),
  )
  await find(3)
  assert.equal(await find(999_999_999), null)
  assert.ok(await find(3))
})

test('guesses cause few fetches, and evict no key in use', async () => {
  const { find, targets, pass } = makeGround((request, call) =>
    request.target === '/keys/3' ? Promise.resolve(toBody(pem)) : notFound(request, call),
  )
  await find(3)
  for (let minute = 0; minute < 20; minute += 1) {
    for (let guess = 0; guess < 30; guess += 1) {
      await find(1000 * (minute + 1) + guess).catch((error: unknown) => {
        assert.ok(error instanceof UpstreamError && error.failure.kind === 'throttled')
      })
    }
    assert.ok(await find(3))
    pass(60_000)
  }
  assert.ok(targets.length <= 200, `${targets.length} fetches`)
  assert.equal(targets.filter((target) => target === '/keys/3').length, 1)
})

test('a fetch that takes too long ends as unavailable, and the next webhook tries again', async () => {
  let count = 0
  const { find } = makeGround((_request, { signal }) => {
    count += 1
    if (count > 1) return Promise.resolve(toBody(pem))
    return new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    })
  }, 20)
  assert.equal(await failureOf(find(3)), 'unavailable')
  assert.ok(await find(3))
})

test('a key that is not RSA of at least 2048 bits is refused', async () => {
  const weak = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey
  const curve = generateKeyPairSync('ed25519').publicKey
  const texts = [weak, curve].map((key) => key.export({ type: 'spki', format: 'pem' }))
  for (const item of [...texts, 'no key', null, 7]) {
    const { find } = makeGround(async () => toBody(item))
    assert.equal(await failureOf(find(3)), 'malformed')
  }
  const { find } = makeGround(async () => Buffer.from('no JSON'))
  assert.equal(await failureOf(find(3)), 'malformed')
})

test('an outage does not mark a key as unknown', async () => {
  const { find } = makeGround(async () => {
    throw new UpstreamError('akahu', { kind: 'unavailable', status: 500, detail: 'down' })
  })
  assert.equal(await failureOf(find(3)), 'unavailable')
})

test('guesses do not keep out the new key of a webhook that names a login of ours', async () => {
  const { find, findOwn, targets, pass } = makeGround((request, call) =>
    request.target === '/keys/4' ? Promise.resolve(toBody(pem)) : notFound(request, call),
  )
  for (let minute = 0; minute < 3; minute += 1) {
    for (let guess = 0; guess < 10; guess += 1) await find(1000 * (minute + 1) + guess)
    assert.equal(await failureOf(find(4)), 'throttled')
    if (minute < 2) pass(60_000)
  }
  assert.ok(await findOwn(4))
  assert.ok(await find(4), 'it is remembered for all')
  assert.equal(targets.filter((target) => target === '/keys/4').length, 1)
})

test('a key that was guessed before it existed is found moments later by a webhook that names a login of ours', async () => {
  let exists = false
  const { find, findOwn, targets, pass } = makeGround((request, call) =>
    exists ? Promise.resolve(toBody(pem)) : notFound(request, call),
  )
  assert.equal(await find(4), null)
  exists = true
  assert.equal(await findOwn(4), null)
  pass(5000)
  assert.equal(await find(4), null)
  assert.equal(targets.length, 1)
  assert.ok(await findOwn(4))
})

test('webhooks that name a login of ours cost few fetches too', async () => {
  const { findOwn, targets } = makeGround(notFound)
  for (let guess = 0; guess < 100; guess += 1) {
    await findOwn(1000 + guess, `login ${guess}`).catch((error: unknown) => {
      assert.ok(error instanceof UpstreamError && error.failure.kind === 'throttled')
    })
  }
  assert.equal(targets.length, 10 + 30)
})

test('invented keys in webhooks that name one login do not keep out the new key of a webhook that names another', async () => {
  const { findOwn, targets } = makeGround((request, call) =>
    request.target === '/keys/4' ? Promise.resolve(toBody(pem)) : notFound(request, call),
  )
  for (let guess = 0; guess < 13; guess += 1) await findOwn(1000 + guess)
  assert.equal(await failureOf(findOwn(2000)), 'throttled')
  assert.equal(await failureOf(findOwn(4)), 'throttled')
  assert.ok(await findOwn(4, 'another'))
  assert.equal(targets.length, 10 + 3 + 1)
})
