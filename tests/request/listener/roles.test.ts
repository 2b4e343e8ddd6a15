/** What a process does by its role: which listeners it has, and whether it does background work. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { request } from 'undici'
import { startProcess } from '#tests/support/process.ts'
import { startService } from '#tests/support/service.ts'
import { until } from '#tests/support/until.ts'

/** A task that runs at the start of every process that does background work. */
const ran = /tributary_background_runs_total\{task="deletion-sweep",outcome="done"\} [1-9]/

async function readText(url: string, headers: Record<string, string> = {}) {
  const { statusCode, body } = await request(url, { headers })
  return { status: statusCode, text: await body.text() }
}

async function startRole(t: TestContext, ROLE: 'all' | 'api') {
  const service = await startService({ env: { ROLE } })
  t.after(() => service.close())
  const authorization = `Bearer ${service.adminToken}`
  return {
    ...service,
    readMetrics: async () =>
      (await readText(`${service.adminUrl}/metrics`, { authorization })).text,
  }
}

test('a process with ROLE=all answers requests and does background work', async (t) => {
  const service = await startRole(t, 'all')
  assert.equal((await readText(`${service.baseUrl}/openapi.json`)).status, 200)
  await until('background work ran', async () => ran.test(await service.readMetrics()))
})

test('a process with ROLE=api answers requests and operators, and leaves background work to others', async (t) => {
  const service = await startRole(t, 'api')
  assert.equal((await readText(`${service.baseUrl}/openapi.json`)).status, 200)
  assert.equal((await readText(`${service.adminUrl}/readyz`)).status, 200)
  assert.equal((await service.readMetrics()).includes('tributary_background_runs_total{'), false)
})

test('a process with ROLE=worker has the admin listener alone, and does background work', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'tributary-worker-'))
  const ADMIN_TOKEN = 'the-token-of-this-test'
  const worker = startProcess({ DATA_DIR: folder, ROLE: 'worker', ADMIN_TOKEN })
  t.after(() => rmSync(folder, { recursive: true }))
  t.after(() => worker.child.kill('SIGKILL'))
  const said = await worker.ready()
  assert.doesNotMatch(said, /REST API|Dashboard|curl/)
  const admin = worker.printed('Admin API')
  assert.equal((await readText(`${admin}/readyz`)).status, 200)
  const authorization = `Bearer ${ADMIN_TOKEN}`
  assert.equal((await readText(`${admin}/admin/users`, { authorization })).status, 200)
  await until('background work ran', async () =>
    ran.test((await readText(`${admin}/metrics`, { authorization })).text),
  )
  worker.child.kill('SIGTERM')
  assert.equal((await worker.ended).code, 0)
})
