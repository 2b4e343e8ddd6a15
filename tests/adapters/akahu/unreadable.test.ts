/**
 * The Akahu adapter over HTTP: rows, pages and cursors that cannot be read fail the read, and never look like
 * an empty list or lead it in a circle or elsewhere.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addMicros } from '#kernel/time.ts'
import {
  call,
  failureOf,
  firstAccount,
  makeGround,
  makeRow,
  micros,
  scopedQuery,
  walk,
  withRows,
} from './harness.ts'

test('R23: a row of the window that cannot be read fails the read, one outside it only needs id and time', async () => {
  await using ground = await makeGround()
  const old = '2026-09-01T12:30:00.000Z'
  const account = withRows(ground, [
    makeRow({ _id: 'trans_1' }),
    makeRow({ _id: 'trans_2', date: old, overrides: { amount: 'ten', description: null } }),
  ])
  const narrow = scopedQuery('history', account)
  const query = { ...narrow, window: { ...narrow.window, from: addMicros(micros(old), 1) } }
  assert.equal((await walk(ground.adapter, query)).rows.length, 1)
  const wide = { ...query, window: { ...query.window, from: micros(old) } }
  assert.equal((await failureOf(walk(ground.adapter, wide))).kind, 'malformed')
})

const broken: [what: string, overrides: Record<string, unknown>][] = [
  ['without an id', { _id: undefined }],
  ['with a numeric id', { _id: 7 }],
  ['without an account', { _account: undefined }],
  ['without a date', { date: undefined }],
  ['with a bare day', { date: '2026-11-18' }],
  ['without an amount', { amount: undefined }],
  ['with an amount of null', { amount: null }],
  ['with an amount that is an object', { amount: {} }],
  ['with a description of null', { description: null }],
]
for (const [what, overrides] of broken) {
  test(`R23: a row ${what} fails the read`, async () => {
    await using ground = await makeGround()
    const account = withRows(ground, [makeRow({ _id: 'trans_1', overrides })])
    const failure = await failureOf(walk(ground.adapter, scopedQuery('history', account)))
    assert.equal(failure.kind, 'malformed')
  })
}

const strangePages: [what: string, body: unknown][] = [
  ['is no JSON', '{"success":true,"items":[{"amount":01}]}'],
  ['is cut off in the middle of a word', '{"success":true,"ite'],
  ['is empty', ''],
  ['is a list', []],
  ['says that it failed', { success: false, message: 'Oh', items: [] }],
  ['has no list', { success: true, cursor: { next: null } }],
  ['has a list of texts', { success: true, items: ['trans_1'] }],
  ['has a null row', { success: true, items: [null] }],
  ['has a cursor that is text', { success: true, items: [], cursor: 'next' }],
  ['has a cursor without next', { success: true, items: [], cursor: {} }],
  ['has a numeric cursor', { success: true, items: [], cursor: { next: 5 } }],
  ['has an empty cursor', { success: true, items: [], cursor: { next: '' } }],
  ['has an endless cursor', { success: true, items: [], cursor: { next: 'x'.repeat(3_000) } }],
]
for (const [what, body] of strangePages) {
  test(`R23: a page that ${what} is malformed, never an empty list`, async () => {
    await using ground = await makeGround()
    ground.akahu.addFault({ does: { kind: 'reply', reply: { status: 200, body } } })
    const query = scopedQuery('history', firstAccount(ground, 'history'))
    const failure = await failureOf(ground.adapter.transactions.read(query, null, call))
    assert.equal(failure.kind, 'malformed')
  })
}

for (const length of [1, 2, 3, 7]) {
  test(`cursors that run in a circle of ${length} are malformed`, async () => {
    await using ground = await makeGround()
    let page = 0
    ground.akahu.addFault({
      does: {
        kind: 'edit',
        edit: () => {
          page += 1
          const next = page < 3 ? `way_${page}` : `circle_${page % length}`
          return { status: 200, body: { success: true, items: [], cursor: { next } } }
        },
      },
    })
    const query = scopedQuery('history', firstAccount(ground, 'history'))
    const failure = await failureOf(walk(ground.adapter, query))
    assert.deepEqual(failure, { kind: 'malformed', detail: 'the cursors form a cycle' })
    assert.ok(page <= 30, `${page} pages`)
  })
}

test('a cursor that looks like an address is sent to Akahu as a parameter, never followed', async () => {
  await using ground = await makeGround()
  const next = 'http://127.0.0.1:9/steal?x=1&y=ü'
  ground.akahu.addFault({
    times: 1,
    does: {
      kind: 'reply',
      reply: { status: 200, body: { success: true, items: [], cursor: { next } } },
    },
  })
  const query = scopedQuery('history', firstAccount(ground, 'history'))
  const first = await ground.adapter.transactions.read(query, null, call)
  const failure = await failureOf(ground.adapter.transactions.read(query, first.next, call))
  assert.deepEqual(failure, { kind: 'rejected', status: 400, detail: 'Invalid cursor' })
  assert.equal(ground.akahu.requests[1]?.query.get('cursor'), next)
})

test('an account id with odd characters stays one part of the path', async () => {
  await using ground = await makeGround()
  const account = firstAccount(ground, 'history')
  account._id = 'acc_../me?x#ü'
  const query = scopedQuery('history', account)
  assert.equal((await failureOf(walk(ground.adapter, query))).kind, 'account_gone')
  assert.match(ground.akahu.requests[0]?.path ?? '', /^\/v1\/accounts\/[^/?#]+\/transactions$/)
})
