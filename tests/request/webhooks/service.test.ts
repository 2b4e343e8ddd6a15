/**
 * Deliveries of the product as an operator runs it: a process of its own, asked through its admin API, and
 * stopped.
 */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { request } from 'undici'
import { startProcess } from '#tests/support/process.ts'
import { until } from '#tests/support/until.ts'
import { startReceiver, withStatus } from './stage.ts'

const adminToken = 'trib_admin_token_of_the_tests'

interface Delivery {
  readonly status: string
  readonly eventId: string
  readonly attempts: readonly { readonly status: number | null }[]
}

/** Starts it on a folder, with the calls that the tests make. */
async function start(t: TestContext, folder: string, env: Record<string, string> = {}) {
  const running = startProcess({ DATA_DIR: folder, ADMIN_TOKEN: adminToken, ...env })
  t.after(async () => {
    running.child.kill('SIGKILL')
    await running.ended
  })
  await running.ready()
  const admin = running.printed('Admin API')
  const ask = async (method: 'GET' | 'POST', path: string, body?: object) => {
    const response = await request(admin + path, {
      method,
      headers: {
        authorization: `Bearer ${adminToken}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      body: body === undefined ? null : JSON.stringify(body),
    })
    return { status: response.statusCode, body: (await response.body.json()) as unknown }
  }
  const list = async (id: string) =>
    ((await ask('GET', `/admin/webhooks/${id}/deliveries`)).body as { data: Delivery[] }).data
  return { running, ask, list, admin }
}

async function makeFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tributary-webhooks-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return folder
}

test('a test event goes out and is counted, and a stop lets what is in flight end', async (t) => {
  const folder = await makeFolder(t)
  const first = await start(t, folder)
  const receiver = await startReceiver(t, withStatus(200))
  await first.ask('POST', '/admin/users', { email: 'emma@b.example' })
  const made = await first.ask('POST', '/admin/users/emma@b.example/webhooks', {
    url: receiver.url,
  })
  assert.equal(made.status, 201)
  const { id } = made.body as { id: string }
  const tested = await first.ask('POST', `/admin/webhooks/${id}/test`)
  assert.equal((tested.body as Delivery).status, 'succeeded')
  const metrics = await request(`${first.admin}/metrics`)
  assert.match(
    await metrics.body.text(),
    /tributary_delivery_attempts_total\{outcome="succeeded"\} 1/,
  )
  // The next one is in flight when the process is asked to stop.
  let finish = () => {}
  receiver.answer = (response) => {
    finish = () => response.writeHead(204).end()
  }
  const waiting = first.ask('POST', `/admin/webhooks/${id}/test`).catch(() => null)
  await until('it is under way', () => receiver.received.length === 2)
  first.running.child.kill('SIGTERM')
  setTimeout(finish, 500)
  const { code } = await first.running.ended
  assert.equal(code, 0)
  await waiting
  // What was answered is kept, and nothing is sent again.
  const second = await start(t, folder)
  await until('both are delivered', async () =>
    (await second.list(id)).every(({ status }) => status === 'succeeded'),
  )
  const deliveries = await second.list(id)
  assert.deepEqual(
    deliveries.map(({ attempts }) => attempts.map(({ status }) => status)),
    [[204], [200]],
  )
  assert.equal(receiver.received.length, 2)
})

test('without the setting no process sends to a private address, even when the endpoint was created with it', async (t) => {
  const folder = await makeFolder(t)
  const receiver = await startReceiver(t, withStatus(200))
  const open = await start(t, folder)
  await open.ask('POST', '/admin/users', { email: 'emma@b.example' })
  const { body } = await open.ask('POST', '/admin/users/emma@b.example/webhooks', {
    url: receiver.url,
  })
  open.running.child.kill('SIGTERM')
  await open.running.ended
  const shut = await start(t, folder, { WEBHOOK_ALLOW_PRIVATE: 'false' })
  const { id } = body as { id: string }
  const tested = await shut.ask('POST', `/admin/webhooks/${id}/test`)
  const { attempts } = tested.body as { attempts: { status: null; failure: string }[] }
  assert.equal(attempts[0]?.status, null)
  assert.match(attempts[0]?.failure ?? '', /not allowed.*nothing was sent/)
  const refused = await shut.ask('POST', '/admin/users/emma@b.example/webhooks', {
    url: receiver.url,
  })
  assert.equal(refused.status, 400)
  assert.equal(receiver.received.length, 0)
})
