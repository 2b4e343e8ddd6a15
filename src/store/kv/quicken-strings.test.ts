/** Proves, by asking V8, that strings are quick again after a class was derived from String. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { quickenStrings } from './quicken-strings.ts'

setFlagsFromString('--allow-natives-syntax')
const isQuick = new Function('return %HasFastProperties(String.prototype)')

test('the Redis client leaves String.prototype slow, and it is mended', async () => {
  await import('ioredis')
  assert.equal(isQuick(), false, 'the client is better than its name: drop quickenStrings')
  quickenStrings()
  assert.equal(isQuick(), true)
})
