/** How a shared computation ends when its callers leave, or when its time is over (readings R20c to R22). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeFlights } from './flight.ts'

/** The name of what the computation itself was ended by. */
async function readEnd(timeoutMs: number, ownTimeMs: number): Promise<string> {
  const ended = Promise.withResolvers<string>()
  const joined = makeFlights<void>(timeoutMs).join(
    'key',
    AbortSignal.timeout(ownTimeMs),
    (signal) => {
      signal.addEventListener('abort', () => ended.resolve(signal.reason.name))
      return new Promise(() => {})
    },
  )
  await assert.rejects(joined, { name: 'TimeoutError' })
  return ended.promise
}

test('R20c: a computation that exceeds the time of one request ends with a TimeoutError', async () => {
  assert.equal(await readEnd(20, 60_000), 'TimeoutError')
})

test('R21: what ends because the own time of its last caller was short has no TimeoutError, which would be a failure of the provider', async () => {
  assert.equal(await readEnd(60_000, 20), 'AbortError')
})
