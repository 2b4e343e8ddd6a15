/** What clients prefer by their Accept header. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { wantsStream } from './preference.ts'

test('R42: a stream is for who names it, with no less weight than JSON', () => {
  for (const accept of [
    'text/event-stream',
    'TEXT/EVENT-STREAM',
    'text/event-stream; charset=utf-8',
    '*/*;q=0.1,text/event-stream;q=0.2',
    'application/json, text/event-stream',
    'application/json;q=0.5, text/event-stream;q=0.5',
  ]) {
    assert.ok(wantsStream(accept), accept)
  }
  for (const accept of [
    undefined,
    '',
    '*/*',
    'text/*',
    'text/event-streamx',
    'application/json',
    'text/event-stream;q=0',
    'text/event-stream; q=0.000',
    'text/event-stream;charset=utf-8;q=0',
    'text/event-stream;q=2',
    'application/json, text/event-stream;q=0.1',
  ]) {
    assert.ok(!wantsStream(accept), String(accept))
  }
})
