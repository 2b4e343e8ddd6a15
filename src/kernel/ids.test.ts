/** Checks that ids are validated when they are parsed. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AccountId, type EventId, newId, newTimedId, parseUuid, upstreamId } from './ids.ts'

const uuid = '0198c2f0-1a2b-4c3d-8e4f-5a6b7c8d9e0f'

test('R12: UUIDs compare case-insensitively, so that they are parsed to lower case', () => {
  assert.equal(parseUuid(uuid), uuid)
  assert.equal(parseUuid(uuid.toUpperCase()), uuid)
})

test('text that is not a UUID gives null', () => {
  const wrong = ['', 'x', `${uuid} `, uuid.slice(1), `{${uuid}}`, uuid.replaceAll('-', '')]
  for (const text of [...wrong, uuid.replace('0', 'g'), uuid.replace('-', '_'), 'İ'.repeat(36)]) {
    assert.equal(parseUuid(text), null, text)
  }
})

test('new ids are UUIDs and never the same', () => {
  const ids = Array.from({ length: 100 }, () => newId<AccountId>())
  assert.equal(new Set(ids).size, 100)
  for (const id of ids) assert.equal(parseUuid(id), id)
})

test('ids that begin with the time are UUIDs, never the same, and near those of the same time', () => {
  const before = Date.now()
  const ids = Array.from({ length: 100 }, () => newTimedId<EventId>())
  assert.equal(new Set(ids).size, 100)
  for (const id of ids) {
    assert.equal(parseUuid(id), id)
    const at = Number.parseInt(id.slice(0, 13).replace('-', ''), 16)
    assert.ok(at >= before && at <= Date.now(), id)
  }
})

test('an upstream id is any text but the empty one', () => {
  assert.equal(upstreamId('acc_ä/1'), 'acc_ä/1')
  assert.throws(() => upstreamId(''), /empty/)
})
