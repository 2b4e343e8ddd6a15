/** The base server of the emulators: it fails exactly as configured. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startEmulator } from './emulator.ts'

test('an endless answer does not accumulate listeners, and ends when its reader disconnects', async (t) => {
  const warnings: Error[] = []
  const listen = (warning: Error) => void warnings.push(warning)
  process.on('warning', listen)
  t.after(() => process.off('warning', listen))
  const emulator = await startEmulator(() => ({ status: 200 }))
  t.after(() => emulator.close())
  emulator.addFault({ does: { kind: 'endless' } })
  const leaving = new AbortController()
  const response = await fetch(emulator.url, { signal: leaving.signal })
  assert.ok(response.body !== null)
  let bytes = 0
  for await (const chunk of response.body) {
    bytes += chunk.length
    if (bytes > 16_777_216) break
  }
  leaving.abort()
  assert.ok(bytes > 16_777_216)
  for (let round = 0; round < 200 && emulator.aborted.length === 0; round += 1) {
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  assert.equal(emulator.aborted.length, 1)
  assert.deepEqual(
    warnings.map((warning) => warning.message),
    [],
  )
})
