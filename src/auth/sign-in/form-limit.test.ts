/** How many forms one person may send. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openMemoryKv } from '#fast/memory.ts'
import { newId, type UserId } from '#kernel/ids.ts'
import { formLimits, makeCountForm } from './form-limit.ts'

test('a person may send a fixed number of forms in a minute and in a day, whatever others send', async (t) => {
  let now = Date.UTC(2026, 10, 22)
  const kv = openMemoryKv({
    clock: { now: () => now },
    cacheMaxBytes: 1000,
    cacheMaxEntryBytes: 1000,
  })
  t.after(() => kv.close())
  const countForm = makeCountForm(kv)
  const [busy, other] = [newId<UserId>(), newId<UserId>()]
  const { perMinute, perDay } = formLimits
  for (let sent = 0; sent < perDay; sent += 1) {
    if (sent > 0 && sent % perMinute === 0) {
      assert.equal(await countForm(busy), 60)
      now += 60_000
    }
    assert.equal(await countForm(busy), null, `${sent}`)
  }
  now += 60_000
  const minutes = Math.ceil(perDay / perMinute)
  assert.equal(await countForm(busy), 86_400 - minutes * 60)
  assert.equal(await countForm(other), null)
})
