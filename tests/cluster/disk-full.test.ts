/**
 * The disk under the embedded store takes nothing more, then has room again, while the process runs. The
 * limit on the size of files (prlimit, setrlimit(2)) stands in for a full disk: it can be set and lifted from
 * outside.
 */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { until } from './fleet.ts'
import { type ServerProcess, startServerProcess } from './server-process.ts'

let dataDir: string
let server: ServerProcess
let key: string
before(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'tributary-disk-'))
  server = await startServerProcess({ DATA_DIR: dataDir })
  const line = server.output.find((text) => /^\s+professional\s+\S+$/.test(text))
  key = line?.trim().split(/\s+/)[1] ?? ''
})
after(async () => {
  await server?.stop('SIGKILL')
  rmSync(dataDir, { recursive: true, force: true })
})

const fillDisk = () => setFileLimit('4096:')
const freeDisk = () => setFileLimit('unlimited:')

function setFileLimit(limit: string): void {
  execFileSync('prlimit', ['--pid', String(server.pid), `--fsize=${limit}`])
}

const emailOf = (name: string) => `${name}@example.test`
const addUser = (name: string) => server.askAdmin('POST', '/users', { email: emailOf(name) })

async function listEmails(): Promise<readonly string[]> {
  const { body } = await server.admin('GET', '/users')
  return body.data.map((user: { email: string }) => user.email)
}

test('on a full disk writes are 503 and logged, reads continue, and no change is partial', async () => {
  assert.equal((await addUser('before')).status, 201)
  fillDisk()
  const logged = server.output.length
  for (let attempt = 0; attempt < 3; attempt += 1) {
    const refused = await addUser('refused')
    assert.equal(refused.status, 503, refused.text)
    assert.equal(refused.headers['retry-after'], '5')
    assert.deepEqual(Object.keys(refused.body), ['error'])
    assert.doesNotMatch(refused.text, /disk|sqlite|\//i, 'nothing of our inside')
  }
  await until('a line of the log names the disk', () =>
    server.output.slice(logged).some((line) => /the disk under the store/.test(line)),
  )

  const connections = await server.get('/v1/connections', key)
  assert.ok(connections.body.data.length > 0, connections.text)
  for (const { id, category } of connections.body.data) {
    const noun = category === 'banking' ? 'transactions' : 'holdings'
    const answer = await server.get(`/v1/${noun}?connectionId=${id}`, key)
    assert.equal(answer.status, 200, answer.text)
  }
  assert.equal((await server.get('/v1/accounts', key)).status, 200)
  // Reading is what a balancer sends people here for (docs/operations/incidents.md, Symptoms).
  assert.equal(await server.isReady(), true)
  assert.equal((await server.get('/v1/accounts', 'trib_live_nobody')).status, 401)
  assert.equal((await listEmails()).includes(emailOf('refused')), false)
})

test('with free space again the same process writes, and all that was accepted is complete', async () => {
  freeDisk()
  assert.equal((await addUser('refused')).status, 201, 'it was never made')
  const accepted = [emailOf('before'), emailOf('refused')]
  for (let count = 0; count < 20; count += 1) {
    if (count % 4 === 3) fillDisk()
    else freeDisk()
    const { status } = await addUser(`person-${count}`)
    assert.equal(status, count % 4 === 3 ? 503 : 201)
    if (status === 201) accepted.push(emailOf(`person-${count}`))
  }
  freeDisk()
  const emails = await listEmails()
  assert.deepEqual(emails.filter((email) => /^(?:person|before|refused)/.test(email)).sort(), [
    ...accepted.sort(),
  ])
  assert.equal(await server.stop('SIGTERM'), 0)
  const db = new DatabaseSync(join(dataDir, 'sandbox', 'tributary.db'))
  assert.deepEqual(
    db
      .prepare('pragma integrity_check')
      .all()
      .map((row) => row.integrity_check),
    ['ok'],
  )
  assert.deepEqual(db.prepare('pragma foreign_key_check').all(), [])
  db.close()
})

test('a process that finds the disk full at its start says so in one line and ends with 1', () => {
  const entry = fileURLToPath(new URL('../../src/main.ts', import.meta.url))
  const emptyDir = mkdtempSync(join(tmpdir(), 'tributary-disk-'))
  const node = [process.execPath, '--disable-warning=ExperimentalWarning', entry]
  const { status, stderr } = spawnSync('prlimit', ['--fsize=8192:', ...node], {
    encoding: 'utf8',
    timeout: 60_000,
    env: {
      NODE_ENV: 'test',
      PATH: process.env.PATH,
      DATA_DIR: emptyDir,
      PORT: '0',
      ADMIN_PORT: '0',
    },
  })
  rmSync(emptyDir, { recursive: true, force: true })
  assert.equal(status, 1, stderr)
  assert.match(stderr, /^tributary: .*the disk under the store.*free space.*\n$/)
})
