/**
 * Cache keys are equal for any order of the same pairs, and different for anything else. A collision would
 * show one person another person's money, so the generated texts contain the separators.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { toReach } from '#contract/reach.ts'
import type { ConnectionId } from '#kernel/ids.ts'
import { makeUrlKey as makeKey } from './url-key.ts'

function makeUrlKey() {
  const key = makeKey()
  return (userId: string, epoch: number, path: string, query: string) =>
    key({ userId, epoch }, path, query)
}

const tempting = fc.string({ unit: fc.constantFrom('a', 'b', '1', ':', '/', '?', '=', '%', '\n') })
const pair = fc.tuple(tempting, tempting).map(([name, value]) => `${name}=${value}`)
const pairs = fc.array(pair, { maxLength: 6 })

interface Parts {
  readonly user: string
  readonly epoch: number
  readonly path: string
  readonly pairs: readonly string[]
}

const parts = fc.record<Parts>({
  user: tempting,
  epoch: fc.nat({ max: 20 }),
  path: tempting,
  pairs,
})

test('R10: any order of the same pairs has the same key', () => {
  const urlKey = makeUrlKey()
  const shuffled = pairs.chain((list) =>
    fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length })),
  )
  fc.assert(
    fc.property(shuffled, ([list, other]) => {
      assert.equal(
        urlKey('user', 1, '/v1/accounts', list.join('&')),
        urlKey('user', 1, '/v1/accounts', other.join('&')),
      )
    }),
  )
})

test('R10: keys are equal only when user, epoch, path and pairs are', () => {
  const urlKey = makeUrlKey()
  const keyOf = (one: Parts) => urlKey(one.user, one.epoch, one.path, one.pairs.join('&'))
  const facts = (one: Parts) =>
    JSON.stringify([one.user, one.epoch, one.path, [...one.pairs].sort().join('&')])
  const property = fc.property(parts, parts, (one, other) => {
    assert.equal(keyOf(one) === keyOf(other), facts(one) === facts(other))
  })
  fc.assert(property, { numRuns: 2000 })
})

test('R10: text moved from one part into the next makes another key', () => {
  const urlKey = makeUrlKey()
  const property = fc.property(tempting, tempting, tempting, fc.nat(), (user, path, query, cut) => {
    const whole = user + path + query
    const key = urlKey(user, 1, path, query)
    const [a, b] = [cut % (whole.length + 1), (cut * 7) % (whole.length + 1)].sort((x, y) => x - y)
    if (a === user.length && b === user.length + path.length) return
    assert.notEqual(urlKey(whole.slice(0, a), 1, whole.slice(a, b), whole.slice(b)), key)
  })
  fc.assert(property, { numRuns: 2000 })
})

test('a value that differs in one character, its case or a duplicate makes another key', () => {
  const urlKey = makeUrlKey()
  const queries = [
    '',
    'a=1',
    'a=2',
    'A=1',
    'a=1&a=1',
    'a=1,1',
    'a=1&',
    'a=%31',
    'a=1&b=2',
    'a=1b=2',
  ]
  const keys = queries.map((query) => urlKey('user', 1, '/v1/balances', query))
  assert.equal(new Set(keys).size, queries.length)
})

test('R10: a query that was asked before has a key of its own for every user, epoch and path', () => {
  const urlKey = makeUrlKey()
  const query = 'a=1&b=2'
  const first = urlKey('one', 1, '/p', query)
  const others = [urlKey('two', 1, '/p', query), urlKey('two', 2, '/p', query)]
  others.push(urlKey('two', 2, '/q', query), urlKey('one', 2, '/q', query))
  assert.equal(new Set([first, ...others]).size, 5)
  assert.equal(urlKey('one', 1, '/p', query), first)
})

test('R10: values that change places between names make another key', () => {
  const urlKey = makeUrlKey()
  assert.notEqual(urlKey('u', 1, '/p', 'a=1&b=2'), urlKey('u', 1, '/p', 'a=2&b=1'))
})

test('a key is the same before and after its query was remembered and forgotten', () => {
  const urlKey = makeUrlKey()
  const long = `z=${'9'.repeat(5000)}&a=1`
  const first = [urlKey('u', 1, '/p', 'b=2&a=1'), urlKey('u', 1, '/p', long)]
  for (let i = 0; i < 10_000; i += 1) urlKey('u', 1, '/p', `n=${i}&a=1`)
  assert.deepEqual([urlKey('u', 1, '/p', 'b=2&a=1'), urlKey('u', 1, '/p', long)], first)
  assert.equal(urlKey('u', 1, '/p', 'a=1&b=2'), first[0])
})

test('R43: what a caller may see makes a key of its own, whatever was asked before', () => {
  const key = makeKey()
  const limits = { scopes: null, connectionIds: null, accountIds: null }
  const reaches = [
    toReach({ ...limits, scopes: ['accounts'] }),
    toReach({ ...limits, scopes: ['accounts', 'balances'] }),
    toReach({ ...limits, connectionIds: ['accounts' as ConnectionId] }),
    toReach({ ...limits, connectionIds: [] }),
  ].flatMap((reach) => reach ?? [])
  const owners = [{}, ...reaches.map((reach) => ({ reach }))]
  const keysOf = () =>
    owners.map((owner) => key({ userId: 'u', epoch: 1, ...owner }, '/v1/accounts', 'limit=5'))
  assert.equal(reaches.length, 4)
  assert.equal(new Set(keysOf()).size, 5)
  assert.deepEqual(keysOf(), keysOf())
  assert.equal(keysOf()[0], makeUrlKey()('u', 1, '/v1/accounts', 'limit=5'))
})
