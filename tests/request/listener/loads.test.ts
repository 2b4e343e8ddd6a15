/** What a start loads: only what every installation uses. The rest is loaded by the first request for it. */
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { request } from 'undici'
import { startProcess } from '#tests/support/process.ts'

const recorder = new URL('record-loads.ts', import.meta.url).href

/** Parts by a fragment of the addresses of their modules. */
const parts = {
  'the engine of OAuth': '/node_modules/oidc-provider/',
  'the protocol library of agents': '/node_modules/@modelcontextprotocol/server/',
  mail: '/node_modules/nodemailer/',
  PostgreSQL: '/node_modules/pg/',
  Redis: '/node_modules/ioredis/',
  'the format for terminals': '/node_modules/pino-pretty/',
  pages: '/src/doors/pages/sign-in/',
  Fastify: '/node_modules/fastify/',
  documents: '/src/doors/docs/',
  emulators: '/sandbox/',
  'the client of outgoing requests': '/node_modules/undici/',
  'what that client does not need': '/node_modules/undici/lib/web/',
  'codes that change with time': '/node_modules/otpauth/',
  'the document of the API': '/src/contract/openapi.ts',
  'the compilers of schemas': '/node_modules/ajv/',
} as const
type Part = keyof typeof parts

async function start(t: TestContext, env: Readonly<Record<string, string>>) {
  const folder = await mkdtemp(join(tmpdir(), 'tributary-loads-'))
  const file = join(folder, 'loads')
  const running = startProcess({
    ...env,
    DATA_DIR: join(folder, 'data'),
    NODE_OPTIONS: `--import ${recorder}`,
    RECORD_LOADS: file,
  })
  t.after(async () => {
    running.child.kill('SIGTERM')
    await running.ended
    await rm(folder, { recursive: true, force: true })
  })
  await running.ready()
  return {
    origin: new URL(running.printed('REST API')).origin,
    admin: new URL(running.printed('Admin API')).origin,
    async loaded(): Promise<readonly Part[]> {
      const text = await readFile(file, 'utf8')
      return (Object.keys(parts) as Part[]).filter((part) => text.includes(parts[part]))
    },
  }
}

async function get(url: string): Promise<number> {
  const { statusCode, body } = await request(url)
  await body.dump()
  return statusCode
}

async function post(url: string): Promise<number> {
  const { statusCode, body } = await request(url, { method: 'POST' })
  await body.dump()
  return statusCode
}

test('a start without the sandbox loads no part that only some installations use', async (t) => {
  const live = { FISKIL_CLIENT_ID: 'id-of-a-client', FISKIL_CLIENT_SECRET: 'a-secret-of-a-client' }
  const { origin, admin, loaded } = await start(t, live)
  assert.deepEqual(await loaded(), [])
  assert.equal(await get(`${origin}/v1/accounts`), 401)
  for (const path of ['/healthz', '/readyz', '/metrics']) {
    assert.equal(await get(admin + path), 200)
  }
  assert.deepEqual(await loaded(), [])
  assert.equal(await get(`${admin}/admin/users`), 401)
  assert.deepEqual(await loaded(), ['Fastify'])
})

test('the first requests load what answers them and nothing else, and are answered', async (t) => {
  const { origin, loaded } = await start(t, {})
  // The demo is linked through the adapters.
  const known: Part[] = ['emulators', 'the client of outgoing requests']
  assert.deepEqual(await loaded(), known)
  const look = async () => (await loaded()).filter((part) => !known.includes(part))
  const path = '/authorize?response_type=code&client_id=unknown'
  assert.deepEqual(await Promise.all([get(origin + path), get(origin + path)]), [400, 400])
  assert.deepEqual(await look(), ['the engine of OAuth'])
  assert.equal(await get(`${origin}/mcp`), 405)
  assert.deepEqual(await look(), ['the engine of OAuth', 'the protocol library of agents'])
  assert.equal(await post(`${origin}/providers/fiskil/webhook`), 401)
  assert(!(await look()).includes('Fastify'))
})

test('the first page loads pages, and neither agents nor the authorization server', async (t) => {
  const { origin, loaded } = await start(t, {})
  const pages = Array.from({ length: 20 }, () => get(`${origin}/sign-in`))
  assert.deepEqual(await Promise.all(pages), Array(20).fill(200))
  const then = await loaded()
  for (const part of ['pages', 'Fastify'] as const) assert(then.includes(part), part)
  for (const part of [
    'the engine of OAuth',
    'the protocol library of agents',
    'the compilers of schemas',
  ] as const) {
    assert(!then.includes(part), part)
  }
})

test('a path that no door owns is 404 also as the first request', async (t) => {
  const { origin } = await start(t, {})
  assert.deepEqual(await Promise.all([get(`${origin}/nothing`), get(`${origin}/%ff`)]), [404, 404])
})
