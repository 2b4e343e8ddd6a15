/** Checks through V8 that strings are fast again after a class was derived from String. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { restoreStringSpeed } from './restore-string-speed.ts'

setFlagsFromString('--allow-natives-syntax')
const isQuick = new Function('return %HasFastProperties(String.prototype)')

test('the Redis client makes String.prototype slow, and we restore it', async () => {
  await import('ioredis')
  assert.equal(isQuick(), false, 'the client is better than its name: drop restoreStringSpeed')
  restoreStringSpeed()
  assert.equal(isQuick(), true)
})
