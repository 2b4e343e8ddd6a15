/**
 * The documented way from one process to many: stop, copy, start. What people hold before (keys, sessions,
 * connections, endpoints, events that wait) holds after it.
 */
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { systemClock } from '#kernel/time.ts'
import { startSandbox } from '#sandbox/start.ts'
import { makeJar } from '#tests/support/jar.ts'
import { startCopy } from './copy-command.ts'
import { providersOf, until } from './fleet.ts'
import { makePostgresGround } from './postgres-place.ts'
import { type ServerProcess, startServerProcess } from './server-process.ts'

const password = 'correct horse battery'

/** A receiver that refuses everything until it is told to accept. */
async function startReceiver(t: TestContext) {
  const receiver = { accepts: false, received: [] as { id: string; body: string; ok: boolean }[] }
  const server = createServer(async (request, response) => {
    const body = (await buffer(request)).toString()
    const id = String(request.headers['webhook-id'])
    receiver.received.push({ id, body, ok: receiver.accepts })
    response.writeHead(receiver.accepts ? 204 : 500).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  return Object.assign(receiver, { url: `http://127.0.0.1:${port}/` })
}

async function setStage(t: TestContext) {
  const ground = await makePostgresGround()
  const sandbox = await startSandbox({ clock: systemClock })
  const dataDir = await mkdtemp(join(tmpdir(), 'tributary-moved-'))
  t.after(async () => {
    await sandbox.close()
    await ground.remove()
    await rm(dataDir, { recursive: true, force: true })
  })
  const { databaseUrl } = await ground.makePlace()
  const environment = {
    ...providersOf(sandbox),
    DATA_DIR: dataDir,
    SANDBOX: 'false',
    ROLE: 'all',
    LOG_LEVEL: 'warn',
    WEBHOOK_ALLOW_PRIVATE: 'true',
    WEBHOOK_RETRY_SCHEDULE: '0,3,3,3,3,3,3,3,3,3,3,3,3,3,3,3,3,3,3,3',
  }
  const start = async (more: Readonly<Record<string, string>> = {}) => {
    const server = await startServerProcess({ ...environment, ...more })
    t.after(() => server.stop('SIGKILL'))
    return server
  }
  return { sandbox, dataDir, databaseUrl, start }
}

async function signIn(server: ServerProcess, email: string) {
  const jar = makeJar(server.baseUrl)
  const { hidden } = await jar.get('/sign-in')
  assert.equal((await jar.post('/sign-in', { ...hidden, email, password })).status, 303)
  return jar
}

/** What the person's key reads. */
async function readAll(server: ServerProcess, key: string): Promise<readonly string[]> {
  const paths = ['/v1/connections', '/v1/accounts', '/v1/categories']
  const { body } = await server.get('/v1/accounts', key)
  const [account] = body.data
  paths.push(
    `/v1/transactions?connectionId=${account.connectionId}&accountId=${account.id}&from=2026-01-01`,
  )
  const answers = await Promise.all(paths.map((path) => server.get(path, key)))
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 200, 200],
  )
  // A sync in the background may set it in between.
  return answers.map(({ text }) => text.replaceAll(/"lastRefreshedAt":"[^"]+"/g, ''))
}

test('after stop, copy and start keys, sessions, connections and answers are the same, waiting events arrive, and a sync finds nothing new', async (t) => {
  const { sandbox, dataDir, databaseUrl, start } = await setStage(t)
  const receiver = await startReceiver(t)
  const embedded = await start()
  const email = 'aroha@example.test'
  const made = await embedded.admin('POST', '/users', { email, password, plan: 'professional' })
  const userId = made.body.id
  const { key } = (await embedded.admin('POST', `/users/${userId}/keys`, {})).body
  await embedded.admin('POST', `/users/${userId}/webhooks`, { url: receiver.url })
  const { endUserId } = sandbox.fiskil.people.healthy
  const linked = await embedded.admin('POST', `/users/${userId}/connections`, {
    provider: 'fiskil',
    endUserId,
  })
  const connectionId = linked.body.connections[0].id
  const sync = (server: ServerProcess) => server.admin('POST', `/connections/${connectionId}/sync`)
  assert.ok((await sync(embedded)).body.newCount > 0)
  await until('an event was tried', () => receiver.received.length > 0)
  const jar = await signIn(embedded, email)
  const before = await readAll(embedded, key)

  const running = await startCopy(databaseUrl, { DATA_DIR: dataDir }).ended
  assert.equal(running.code, 1, 'not beside a running service')
  assert.match(running.err, /another process has the store/)
  assert.equal(await embedded.stop('SIGTERM'), 0)
  const copied = await startCopy(databaseUrl, { DATA_DIR: dataDir }).ended
  assert.equal(copied.code, 0, copied.err)
  assert.match(copied.err, /users: 1 rows verified/)
  assert.match(copied.out, /The store is copied: \d+ rows/)
  const keyFile = join(dataDir, 'secrets', 'encryption-key')
  assert.ok(copied.out.includes(keyFile), 'it says where the key is')

  const waiting = receiver.received.at(-1)
  receiver.accepts = true
  const ENCRYPTION_KEY = (await readFile(keyFile, 'utf8')).trim()
  const moved = await start({ DATABASE_URL: databaseUrl, ENCRYPTION_KEY })
  assert.deepEqual(await readAll(moved, key), before)
  const browser = makeJar(moved.baseUrl)
  for (const [name, value] of jar.cookies) browser.cookies.set(name, value)
  assert.equal((await browser.get('/connections')).status, 200, 'the session holds')
  const find = () => receiver.received.find(({ ok, id }) => ok && id === waiting?.id)
  await until('what waited arrives', () => find() !== undefined, 60_000)
  assert.equal(find()?.body, waiting?.body, 'with the same id and bytes')
  const { body } = await sync(moved)
  assert.deepEqual([body.newCount, body.updatedCount], [0, 0])
})
