/** What a command says where its output is lost, which had a secret that is shown only once. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { adminToken, makeWorld } from '#tests/request/admin/world.ts'
import { runCommand } from '#tests/support/command.ts'
import { OutputError } from './output.ts'

const message = 'Standard output could not be written: no space left on device (ENOSPC)'
const loss = () => new OutputError(message)
const email = 'emma@b.example'

test('a key or an endpoint whose secret was lost is named by its id, so that it can be revoked', async (t) => {
  const { door } = await makeWorld(t)
  const url = await door.listen({ host: '127.0.0.1', port: 0 })
  const environment = { ADMIN_URL: url, ADMIN_TOKEN: adminToken }
  await runCommand(['users', 'create', '--email', email, '--timezone', 'UTC'], { environment })
  const create = ['create', email]
  for (const [noun, flags] of [
    ['keys', ['--name', 'mine']],
    ['webhooks', ['--url', 'https://a.example/hook']],
  ] as const) {
    const lost = await runCommand([noun, ...create, ...flags], { environment, loss })
    assert.equal(lost.code, 1)
    const list = await runCommand([noun, 'list', email, '--json'], { environment })
    const { id } = JSON.parse(list.out).data[0]
    assert.ok(lost.err.startsWith(`tributary: ${message}\n  The server has done it: `), lost.err)
    assert.ok(lost.err.includes(` has the id ${id}; `), lost.err)
    const remove = noun === 'keys' ? 'revoke' : 'remove'
    assert.equal((await runCommand([noun, remove, id], { environment })).code, 0)
  }
  const read = await runCommand(['keys', 'list', email], { environment, loss })
  assert.deepEqual([read.code, read.err], [1, `tributary: ${message}\n`])
})

test('a setup whose key was lost says how to revoke it and make another', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'tributary-lost-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const { code, err } = await runCommand(['setup', '--email', email, '--timezone', 'UTC'], {
    // Nobody listens there: no service runs.
    environment: { DATA_DIR: join(folder, 'data'), ADMIN_PORT: '1' },
    workingDirectory: folder,
    loss,
  })
  assert.equal(code, 1)
  assert.ok(err.startsWith(`tributary: ${message}\n  The API key was made and is lost: `), err)
  assert.match(err, /keys list emma@b\.example`, revoke it, and make another with `tributary keys /)
})
