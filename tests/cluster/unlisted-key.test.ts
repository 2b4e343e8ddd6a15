/**
 * A rotation of the encryption key whose second step was skipped (docs/operations/install.md): one process
 * seals with a key that another one does not list. Nothing is lost, and everything says why it waits.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { startMailServer } from '#tests/support/mail-server.ts'
import { startFleet, until } from './fleet.ts'
import type { ServerProcess } from './server-process.ts'

const newKey = () => randomBytes(32).toString('base64')

/** Counts what arrives. */
async function startReceiver(t: TestContext) {
  let count = 0
  const server = createServer((request, response) => {
    count += 1
    request.resume().once('end', () => response.end())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/hook`, count: () => count }
}

const linesOf = ({ output }: ServerProcess) =>
  output.filter((line) => /ENCRYPTION_KEY of this process lacks a key/.test(line))

test('what one process sealed with a key that another does not list waits there, is 503, and is neither ended nor lost', {
  timeout: 240_000,
}, async (t) => {
  const [old, fresh] = [newKey(), newKey()]
  const receiver = await startReceiver(t)
  const mail = await startMailServer()
  t.after(() => mail.close())
  const fleet = await startFleet({
    env: {
      ENCRYPTION_KEY: old,
      WEBHOOK_ALLOW_PRIVATE: 'true',
      SMTP_URL: `smtp://127.0.0.1:${mail.port}?tls=never`,
    },
  })
  t.after(() => fleet.close())
  const user = await fleet.createLinked()
  const endpoint = { url: receiver.url }
  const { body: hook } = await fleet.one.admin('POST', `/users/${user.id}/webhooks`, endpoint)
  await fleet.two.stop('SIGTERM')
  const stale = await fleet.start({ ROLE: 'all' })
  await until('the first events', () => receiver.count() > 0, 60_000)
  await until('the first mail', () => mail.received.length > 0, 60_000)
  await fleet.one.stop('SIGTERM')

  const rotating = await fleet.start({ ENCRYPTION_KEY: `${fresh},${old}` })
  await until('the rows are sealed anew', async () =>
    /every sealed row is encrypted with the first key/.test(
      (await rotating.askAdmin('GET', '/doctor')).text,
    ),
  )
  const deliveriesOf = async () =>
    (await rotating.admin('GET', `/webhooks/${hook.id}/deliveries`)).body.data as {
      readonly status: string
      readonly attempts: readonly unknown[]
    }[]
  const before = { events: receiver.count(), mails: mail.received.length }
  await rotating.admin('POST', `/users/${user.id}/keys`, { name: 'rotated' })
  await rotating.admin('POST', `/connections/${user.connectionId}/sync`)
  await rotating.admin('POST', `/webhooks/${hook.id}/test`)

  await until('the process says what it lacks', () => linesOf(stale).length > 0)
  const events = await stale.get('/v1/events?consumer=late', user.key)
  assert.equal(events.status, 503, events.text)
  assert.ok(Number(events.headers['retry-after']) > 0)
  const sync = await stale.askAdmin('POST', `/connections/${user.connectionId}/sync`)
  assert.equal(sync.status, 503, sync.text)
  assert.ok(Number(sync.headers['retry-after']) > 0)
  const removal = await stale.askAdmin('DELETE', `/users/${user.id}`)
  assert.equal(removal.status, 503, removal.text)
  const { body: report } = await stale.askAdmin('GET', '/doctor')
  assert.match(JSON.stringify(report), /lacks keys with which other processes have sealed rows/)
  await until('it tries the delivery', async () => (await deliveriesOf()).length > before.events)
  const waiting = (await deliveriesOf()).filter(({ status }) => status !== 'succeeded')
  assert.ok(waiting.length > 0)
  for (const { status, attempts } of waiting)
    assert.deepEqual([status, attempts.length], ['pending', 0])
  assert.equal(linesOf(stale).length, 1)

  await stale.stop('SIGTERM')
  await fleet.start({ ENCRYPTION_KEY: `${fresh},${old}`, ROLE: 'all' })
  await until('the mail', () => mail.received.length > before.mails, 60_000)
  const isOver = async () => (await deliveriesOf()).every(({ status }) => status === 'succeeded')
  await until('the events', isOver, 60_000)
  assert.ok(receiver.count() >= before.events + waiting.length)
})
