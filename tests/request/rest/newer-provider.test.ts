/**
 * A rolling upgrade to a version with another provider: its rows are in the store of a process that does not
 * know it.
 */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { startService } from '#tests/support/service.ts'

test('a connection of a provider that only a newer version knows is 503 with Retry-After', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'tributary-newer-provider-'))
  const service = await startService({ dataDir: folder })
  t.after(async () => {
    await service.close()
    await rm(folder, { recursive: true, force: true })
  })
  const user = await service.createUser()
  const [row] = await service.link(user, 'healthy', 'fiskil')
  assert.ok(row !== undefined)
  const db = new DatabaseSync(join(folder, 'sandbox/tributary.db'))
  db.exec("update connections set provider = 'nova'")
  db.close()
  for (const path of ['/v1/connections', `/v1/transactions?connectionId=${row.id}`]) {
    const { status, headers, body } = await service.get(path, user)
    assert.equal(status, 503, path)
    assert.equal(headers['retry-after'], '5')
    assert.match(body.error.message, /temporarily unavailable/)
  }
})
