/**
 * The OpenAPI document of the admin API: who may read it, and that the door answers every call that it
 * describes.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { makeAdminOpenApi } from '#doors/admin/openapi.ts'
import { readRoute } from '#doors/admin/table/call.ts'
import { adminCallList } from '#doors/admin/table/table.ts'
import manifest from '../../../package.json' with { type: 'json' }
import { inject, makeWorld } from './world.ts'

test('the document is read without a token, but not under a foreign host name', async (t) => {
  const { door } = await makeWorld(t)
  const served = await inject(door, { method: 'GET', url: '/openapi.json' })
  assert.equal(served.status, 200)
  assert.deepEqual(served.body, makeAdminOpenApi('0'))
  const headers = { host: 'evil.example' }
  const foreign = await inject(door, { method: 'GET', url: '/openapi.json', headers })
  assert.equal(foreign.status, 400)
})

test('the checked-in document is the one that the code makes', () => {
  const file = new URL('../../../docs/admin-openapi.json', import.meta.url)
  const made = makeAdminOpenApi(manifest.version)
  assert.equal(readFileSync(file, 'utf8'), `${JSON.stringify(made, null, 2)}\n`, 'npm run openapi')
})

test('each call of the document has a route, which answers as the document says', async (t) => {
  const { ask } = await makeWorld(t)
  for (const [name, call] of adminCallList) {
    const { method, path } = readRoute(call)
    const url = path.replace(/\{\w+\}/g, 'nobody')
    const { status, body } = await ask(method, url, call.input?.place === 'body' ? {} : undefined)
    const { code } = (body as { error?: { code?: string } }).error ?? {}
    const due = path.includes('{') ? 404 : method === 'GET' ? 200 : 400
    assert.equal(status, due, name)
    assert.notEqual(code, 'not_found', name)
  }
})

test('where replies are checked, one that does not fit its schema is a 500 and not an answer', async (t) => {
  const result = { syncRunId: 'no uuid', newCount: 0, updatedCount: 0, chunks: 0 }
  const { ask } = await makeWorld(t, { runSync: async () => result as never })
  const path = '/admin/connections/7f0c9a52-3f0e-4a57-9a3f-0d5b7a3a2a10/sync'
  assert.equal((await ask('POST', path)).status, 500)
})
