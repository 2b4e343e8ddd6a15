/** Checks that memory is given back at once by its owner alone. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { releaseChunk } from './release-bytes.ts'

test('a chunk gives back the whole buffer of its read, once, also after the headers before it', () => {
  const read = new ArrayBuffer(1000)
  const chunk = new Uint8Array(read, 127)
  releaseChunk(chunk)
  assert.equal(read.detached, true)
  releaseChunk(chunk)
})

test('the small parts that Node shares out are never taken away', () => {
  for (const size of [1, 100, Buffer.poolSize / 2 - 1, Buffer.poolSize / 2, Buffer.poolSize]) {
    const [mine, other] = [Buffer.allocUnsafe(size), Buffer.from('kept')]
    releaseChunk(mine)
    assert.equal(other.toString(), 'kept')
    const part = new Uint8Array(new ArrayBuffer(1000), 0, 500)
    releaseChunk(part)
    assert.equal(part.length, 500)
  }
})
