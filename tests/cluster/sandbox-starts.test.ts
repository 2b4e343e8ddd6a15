/**
 * Sandbox mode over one PostgreSQL: what each process prints works on all of them, whichever folder and port
 * it has.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { request } from 'undici'
import { type Jar, makeJar } from '#tests/support/jar.ts'
import { type Started, startProcess } from '#tests/support/process.ts'
import { makePostgresGround, type PostgresGround } from './postgres-place.ts'

let ground: PostgresGround
let folder: string
let environment: Readonly<Record<string, string>>
const running: Started[] = []
before(async () => {
  ground = await makePostgresGround()
  const { databaseUrl } = await ground.makePlace()
  folder = await mkdtemp(join(tmpdir(), 'tributary-sandbox-starts-'))
  environment = {
    DATABASE_URL: databaseUrl,
    ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    SANDBOX: 'true',
  }
})
after(async () => {
  for (const { child } of running) child.kill('SIGTERM')
  await Promise.all(running.map(({ ended }) => ended))
  await ground?.remove()
  await rm(folder, { recursive: true, force: true })
})

async function start(name: string): Promise<Started> {
  const started = startProcess({ ...environment, DATA_DIR: join(folder, name) })
  running.push(started)
  await started.ready()
  return started
}

const labels = ['professional', 'developer', 'Password']
const toPrinted = (started: Started) => labels.map((label) => started.printed(label))

/** Signs in on `on` with what `by` printed. */
async function signIn(on: Started, by: Started): Promise<Jar> {
  const jar = makeJar(on.printed('Dashboard'))
  const { hidden } = await jar.get('/sign-in')
  const email = by.printed('E-mail')
  const entered = await jar.post('/sign-in', { ...hidden, email, password: by.printed('Password') })
  assert.equal(entered.status, 303)
  return jar
}

test('two starts at once on an empty database and a later one, each with its own folder: the printed keys and password work everywhere, and sessions go on', async () => {
  const [one, two] = await Promise.all([start('one'), start('two')])
  const jar = await signIn(one, two)
  await signIn(two, one)
  const three = await start('three')
  for (const by of [one, two, three]) {
    assert.deepEqual(toPrinted(by), toPrinted(one))
    await signIn(three, by)
    for (const on of [one, two, three]) {
      for (const plan of ['professional', 'developer']) {
        const headers = { authorization: `Bearer ${by.printed(plan)}` }
        const { statusCode, body } = await request(`${on.printed('REST API')}/accounts`, {
          headers,
        })
        await body.dump()
        assert.equal(statusCode, 200)
      }
    }
  }
  const home = await jar.get('/')
  assert.ok(home.text.includes(one.printed('E-mail')), home.text)
})
