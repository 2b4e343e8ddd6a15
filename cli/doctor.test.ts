/** The command `doctor`: its output for people, its output for scripts, and its exit codes. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { adminToken, makeWorld } from '#tests/request/admin/world.ts'
import { runCommand } from '#tests/support/command.ts'

const doctor = (url: string, ...args: string[]) =>
  runCommand(['doctor', ...args], {
    environment: { ADMIN_URL: url, ADMIN_TOKEN: adminToken },
  })

/** A server that answers with the given findings. */
async function makeServer(t: TestContext, answer: unknown): Promise<string> {
  const server = createServer((request, response) => {
    response.statusCode = request.url === '/admin/doctor' && request.method === 'GET' ? 200 : 404
    response.end(JSON.stringify(answer))
  }).listen(0, '127.0.0.1')
  t.after(() => server.close())
  await new Promise((resolve) => server.once('listening', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const checks = [
  { name: 'store', status: 'ok', message: 'accepts writes', action: null },
  { name: 'clock:akahu', status: 'warning', message: '95 s behind ours', action: 'Use NTP' },
  { name: 'provider:fiskil', status: 'error', message: 'refuses\u001b[2J us', action: 'Compare' },
]

test('each finding is a line with its mark and its action below it, the last line is a count; an error ends with 1', async (t) => {
  const url = await makeServer(t, { status: 'error', checks })
  assert.deepEqual(await doctor(url), {
    code: 1,
    err: '',
    out: [
      '✓ store: accepts writes',
      '! clock:akahu: 95 s behind ours',
      '    → Use NTP',
      '✗ provider:fiskil: refuses?[2J us',
      '    → Compare',
      '',
      '1 error, 1 warning.',
      '',
    ].join('\n'),
  })
})

test('warnings end with 0, and a diagnosis without problems says so', async (t) => {
  const warned = await makeServer(t, { status: 'warning', checks: checks.slice(0, 2) })
  const first = await doctor(warned)
  assert.equal(first.code, 0)
  assert.match(first.out, /\n1 warning\.\n$/)
  const sound = await makeServer(t, { status: 'ok', checks: checks.slice(0, 1) })
  assert.deepEqual(await doctor(sound), {
    code: 0,
    err: '',
    out: '✓ store: accepts writes\n\nAll is well.\n',
  })
})

test('with --json the answer is printed unchanged as one document, and the exit code is the same', async (t) => {
  const url = await makeServer(t, { status: 'error', checks })
  const { code, out } = await doctor(url, '--json')
  assert.equal(code, 1)
  assert.deepEqual(JSON.parse(out), { status: 'error', checks })
})

test('the admin API answers it; no server, extra words and unknown flags fail as for other commands', async (t) => {
  const world = await makeWorld(t, { providers: ['akahu'] })
  const url = await world.door.listen({ host: '127.0.0.1', port: 0 })
  const { code, out } = await doctor(url)
  assert.equal(code, 0)
  assert.match(out, /^✓ configuration: /)
  assert.match(
    out,
    /\n✓ provider:akahu: answers and accepts our credentials; full app: nobody is linked\n/,
  )
  assert.match(out, /\n! url:BASE_URL: .*\n {4}→ Try it from outside/)
  assert.equal((await doctor(url, 'now')).code, 2)
  assert.equal((await doctor(url, '--nothing')).code, 2)
  const help = await doctor(url, '--help')
  assert.match(help.out, /^usage: tributary doctor\n {2}check everything/)
  assert.match(help.out, /usage: tributary doctor --mcp URL/)
  assert.equal((await doctor('http://127.0.0.1:1')).code, 1)
})

test('exit 1: a process that hangs is named within the ten seconds that the doctor may take', async (t) => {
  const server = createServer(() => {}).listen(0, '127.0.0.1')
  t.after(() => server.close())
  t.after(() => server.closeAllConnections())
  await new Promise((resolve) => server.once('listening', resolve))
  const from = performance.now()
  const { port } = server.address() as AddressInfo
  const { code, err } = await doctor(`http://127.0.0.1:${port}`)
  assert.ok(performance.now() - from < 14_000)
  assert.equal(code, 1)
  assert.match(err, /did not answer within 10 seconds.*\n.*restart it/)
})
