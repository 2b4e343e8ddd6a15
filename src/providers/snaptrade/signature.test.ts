/** Checks the published signing method by its test vectors, and that exactly the signed text is sent. */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { anyCharacter } from '#tests/support/any-character.ts'
import { makeSigner, toQuery, toSegment } from './signature.ts'

const sign = makeSigner('consumer_key')

test('a request without a body is signed as the vector of its documentation', () => {
  assert.equal(
    sign({ path: '/accounts', query: 'timestamp=1700000000' }),
    '3VkE1AkN6sr1yxWbl8JA7v9O9MFXfMFDVgzhC9GhptU=',
  )
})

test('a request with a body is signed as the vector of its documentation', () => {
  assert.equal(
    sign({
      content: { substring: 'AAPL' },
      path: '/symbols',
      query: 'clientId=PARTNER&timestamp=1715123456',
    }),
    'FV2lcss9lRwRo59Mj3eyF1DhGluP9ZaKw/I4qOtih2s=',
  )
})

test('the requests of a personal key, which name no user, are signed as in these vectors', () => {
  const query = 'clientId=PERSONAL&timestamp=1700000000'
  assert.equal(sign({ path: '/accounts', query }), 'HYBw2M/PtTh2+XcDYrQKsJWV1muTP7qfOPR4AqkpHSM=')
  assert.equal(
    sign({ content: { connectionType: 'read' }, path: '/snapTrade/login', query }),
    '54fFR39y5o+TuWyo+CW+oTdHvxfRblABL11cPmXnCBg=',
  )
})

test('an empty body is signed as no body, and keys are sorted at every level', () => {
  const at = { path: '/x', query: 'a=1' }
  assert.equal(sign({ ...at, content: {} }), sign(at))
  assert.equal(
    sign({ ...at, content: { b: { d: 1, c: [2, 1] }, a: 3 } }),
    sign({ ...at, content: { a: 3, b: { c: [2, 1], d: 1 } } }),
  )
  assert.notEqual(sign({ ...at, content: { a: [1, 2] } }), sign({ ...at, content: { a: [2, 1] } }))
})

test('the key is encoded as the vendor’s own client does', () => {
  const message = '{"content":null,"path":"/x","query":"a=1"}'
  const wanted = createHmac('sha256', 'schl%C3%BCssel%25').update(message).digest('base64')
  assert.equal(makeSigner('schlüssel%')({ path: '/x', query: 'a=1' }), wanted)
})

test('a URL parser finds nothing to write differently in a query that was signed', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.string({ unit: anyCharacter }), fc.string())), (pairs) => {
      const query = toQuery(pairs.map(([name, value]) => [`k${name}`, value]))
      const search = new URL(`https://api.example.test/accounts?${query}`).search
      assert.equal(search, query === '' ? '' : `?${query}`)
    }),
  )
})

test('a query reads back as what was put in', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (left, right) => {
      const query = new URLSearchParams(
        toQuery([
          ['userId', left],
          ['userSecret', right],
        ]),
      )
      assert.equal(query.get('userId'), left)
      assert.equal(query.get('userSecret'), right)
    }),
  )
})

test('an identifier cannot leave its segment of the path', () => {
  assert.equal(toSegment('a/../b?c#d'), 'a%2F..%2Fb%3Fc%23d')
})
