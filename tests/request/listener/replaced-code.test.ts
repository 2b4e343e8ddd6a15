/**
 * An upgrade replaces the code under a running service: what was not loaded yet is refused until the restart.
 */
import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, renameSync, rmSync, symlinkSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { request } from 'undici'
import { startProcess } from '#tests/support/process.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const longAgo = new Date('2026-01-01T00:00:00Z')

/** A service that runs from a clone of its own. */
async function startClone(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'tributary-replaced-'))
  for (const name of ['src', 'sandbox', 'package.json'])
    cpSync(join(root, name), join(folder, name), { recursive: true, preserveTimestamps: true })
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  const running = startProcess(
    { DATA_DIR: join(folder, 'data') },
    undefined,
    join(folder, 'src/main.ts'),
  )
  t.after(async () => {
    running.child.kill('SIGKILL')
    await running.ended
    rmSync(folder, { recursive: true, force: true })
  })
  await running.ready()
  const base = new URL(running.printed('REST API')).origin
  const admin = new URL(running.printed('Admin API')).origin
  const ask = async (url: string) => {
    const { statusCode, headers, body } = await request(url, {
      headers: { authorization: `Bearer ${running.printed('professional')}` },
    })
    await body.dump()
    return { status: statusCode, retryAfter: headers['retry-after'] }
  }
  async function stop(): Promise<readonly Record<string, unknown>[]> {
    running.child.kill('SIGTERM')
    const { stdout } = await running.ended
    const lines = stdout.split('\n').filter((line) => line.startsWith('{'))
    return lines.map((line) => JSON.parse(line) as Record<string, unknown>)
  }
  return { folder, base, admin, ask, stop }
}

test('doors of newer code are 503 with a line in the log, and those that were loaded go on', async (t) => {
  const { folder, base, admin, ask, stop } = await startClone(t)
  const file = join(folder, 'src/doors/docs/page.ts')
  utimesSync(join(folder, 'src/main.ts'), longAgo, longAgo)
  cpSync(join(folder, 'src/main.ts'), file)
  utimesSync(file, new Date(), new Date())
  assert.deepEqual(await ask(`${base}/doc`), { status: 503, retryAfter: '5' })
  assert.deepEqual(await ask(`${base}/`), { status: 503, retryAfter: '5' })
  assert.deepEqual(await ask(`${admin}/admin/users`), { status: 503, retryAfter: '5' })
  assert.equal((await ask(`${base}/v1/connections`)).status, 200)
  assert.equal((await ask(`${admin}/readyz`)).status, 200)
  const failures = (await stop()).filter(({ msg }) => msg === 'background work failed')
  assert.deepEqual(
    failures.map(({ task }) => task),
    ['doors', 'doors', 'admin'],
  )
  for (const { err } of failures)
    assert.match(JSON.stringify(err), /was replaced after this process started .* restart/)
})

test('the engine of OAuth, which is loaded later still, is 503 too when the code was replaced', async (t) => {
  const { folder, base, ask, stop } = await startClone(t)
  assert.equal((await ask(`${base}/.well-known/oauth-authorization-server`)).status, 200)
  utimesSync(join(folder, 'src/main.ts'), new Date(), new Date())
  const authorize = `${base}/authorize?client_id=x&response_type=code`
  assert.deepEqual(await ask(authorize), { status: 503, retryAfter: '5' })
  const failures = (await stop()).filter(({ msg }) => msg === 'background work failed')
  assert.deepEqual(
    failures.map(({ task }) => task),
    ['oauth'],
  )
  assert.match(JSON.stringify(failures), /was replaced after this process started/)
})

test('doors whose files are gone are 503, and are loaded when the same files are back', async (t) => {
  const { folder, base, ask, stop } = await startClone(t)
  const [source, away] = [join(folder, 'src'), join(folder, 'away')]
  renameSync(source, away)
  assert.deepEqual(await ask(`${base}/doc`), { status: 503, retryAfter: '5' })
  renameSync(away, source)
  assert.equal((await ask(`${base}/doc`)).status, 200)
  const failures = (await stop()).filter(({ msg }) => msg === 'background work failed')
  assert.deepEqual(failures.length, 1)
})
