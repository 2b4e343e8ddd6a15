/** Checks that memory is given back at once by its owner alone. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { releaseBytes } from './release-bytes.ts'

test('a chunk gives back the whole buffer of its read, once, also after the headers before it', () => {
  const read = new ArrayBuffer(1000)
  const chunk = new Uint8Array(read, 127)
  releaseBytes(chunk)
  assert.equal(read.detached, true)
  releaseBytes(chunk)
})

test('the small parts that Node shares out are never taken away', () => {
  for (const size of [1, 100, Buffer.poolSize / 2 - 1, Buffer.poolSize / 2, Buffer.poolSize]) {
    const [mine, other] = [Buffer.allocUnsafe(size), Buffer.from('kept')]
    releaseBytes(mine)
    assert.equal(other.toString(), 'kept')
    const part = new Uint8Array(new ArrayBuffer(1000), 0, 500)
    releaseBytes(part)
    assert.equal(part.length, 500)
  }
})
