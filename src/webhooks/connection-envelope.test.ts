import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EventEnvelope, expiryDays } from '#contract/events.ts'
import { type ConnectionId, newId, type UserId } from '#kernel/ids.ts'
import type { ChangedConnection } from '#store/ports/connection-events.ts'
import {
  type ConnectionEventDraft,
  makeConnectionEvent,
  toConnectionEvent,
} from './connection-envelope.ts'
import { toReplay } from './envelope.ts'

const at = Date.UTC(2026, 10, 20, 3, 15, 0, 700)
const row: ChangedConnection = {
  id: newId<ConnectionId>(),
  provider: 'snaptrade',
  institutionId: 'i-1',
  institutionName: 'Harbour Brokers',
  institutionLogo: null,
  status: 'revoked',
  lastRefreshedAt: at,
  createdAt: at,
}

const draftOf = (over: Partial<ConnectionEventDraft> = {}): ConnectionEventDraft => ({
  userId: newId<UserId>(),
  connectionId: row.id,
  type: 'connection.revoked',
  data: toConnectionEvent(row),
  expiresAt: null,
  createdAt: at,
  ...over,
})

test('R41: the envelope of a change is one chunk without run and counts, and is never skipped as empty', () => {
  const event = makeConnectionEvent(draftOf())
  const envelope = JSON.parse(Buffer.from(event.body).toString('utf8'))
  assert.deepEqual(EventEnvelope.parse(envelope), envelope)
  const names = ['id', 'object', 'type', 'api_version', 'created', 'data', 'metadata']
  assert.deepEqual(Object.keys(envelope), names)
  assert.equal(envelope.id, event.id)
  assert.equal(envelope.created, Math.floor(at / 1000))
  assert.equal(envelope.data.category, 'brokerage')
  assert.deepEqual(
    [event.chunk, event.totalChunks, event.isEmpty, event.runId, event.connectionId],
    [1, 1, false, null, row.id],
  )
})

test('R41: the end of a consent is in the event that announces it, and in no other', () => {
  const ends = makeConnectionEvent(draftOf({ type: 'connection.expiring', expiresAt: at }))
  assert.match(Buffer.from(ends.body).toString(), /"expires_at":"2026-11-20T03:15:00\.700Z"/)
  const other = JSON.parse(Buffer.from(makeConnectionEvent(draftOf()).body).toString())
  assert.ok(!('expires_at' in other.data))
  const wrong = { ...other, type: 'connection.expiring' }
  assert.equal(EventEnvelope.safeParse(wrong).success, false)
  assert.deepEqual([...expiryDays], [30, 7, 1])
})

test('R41: a number of an account in the name of an institution is hidden, as on REST', () => {
  const { institution_name } = toConnectionEvent({
    ...row,
    institutionName: 'Harbour 06-0501-0123456-00',
  })
  assert.doesNotMatch(institution_name, /0123456/)
})

test('R41: a replay of a change has the same bytes', () => {
  const { body } = makeConnectionEvent(draftOf())
  assert.deepEqual(Buffer.from(toReplay(body)), Buffer.from(body))
})
