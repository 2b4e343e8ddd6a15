/**
 * A rotation of the encryption key whose second step was skipped (docs/operations/install.md): one process
 * seals with a key that another one does not list. That one ends, and nothing is lost.
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

const lacks =
  /ENCRYPTION_KEY of this process lacks the key [0-9a-f]{16}, with which another process seals/
const linesOf = ({ output }: ServerProcess) => output.filter((line) => lacks.test(line))

for (const [what, hasMail] of [
  ['mails', true],
  ['syncs and their events', false],
] as const)
  test(`a process that lacks a key with which others seal says so and ends: ${what} wait for another one`, {
    timeout: 180_000,
  }, async (t) => {
    const [old, fresh] = [newKey(), newKey()]
    const receiver = await startReceiver(t)
    const mail = await startMailServer()
    t.after(() => mail.close())
    const fleet = await startFleet({
      env: {
        ENCRYPTION_KEY: old,
        WEBHOOK_ALLOW_PRIVATE: 'true',
        ...(hasMail ? { SMTP_URL: `smtp://127.0.0.1:${mail.port}?tls=never` } : {}),
      },
    })
    t.after(() => fleet.close())
    const user = await fleet.createLinked()
    const endpoint = { url: receiver.url }
    const { body: hook } = await fleet.one.admin('POST', `/users/${user.id}/webhooks`, endpoint)
    await fleet.two.stop('SIGTERM')
    const stale = await fleet.start({ ROLE: 'all' })
    await until('the first events', () => receiver.count() > 0, 60_000)
    await until('the first mail', () => !hasMail || mail.received.length > 0, 60_000)
    await fleet.one.stop('SIGTERM')

    // An `api` takes no work, so the other one has to take what this one seals.
    const rotating = await fleet.start({ ENCRYPTION_KEY: `${fresh},${old}` })
    const [mailsBefore, eventsBefore] = [mail.received.length, receiver.count()]
    const keys = 5
    for (let count = 0; count < keys; count += 1)
      await rotating.admin('POST', `/users/${user.id}/keys`, { name: `rotated ${count}` })
    await rotating.admin('POST', `/connections/${user.connectionId}/sync`)
    assert.equal(await stale.ended, 1)
    assert.equal(linesOf(stale).length, 1, stale.output.join('\n'))
    await assert.rejects(fleet.start(), /does not hold every key/)

    await fleet.start({ ENCRYPTION_KEY: `${fresh},${old}`, ROLE: 'all' })
    // An endpoint that the process had claimed is free again after a minute.
    await until('the events of the sync', () => receiver.count() > eventsBefore, 90_000)
    const { body: deliveries } = await rotating.admin('GET', `/webhooks/${hook.id}/deliveries`)
    for (const { status } of deliveries.data) assert.notEqual(status, 'exhausted')
    if (!hasMail) return
    // A mail that the process had claimed waits until that claim is over, which takes two minutes.
    const text = await rotating.readMetrics()
    const waiting = Number(/^tributary_mails_waiting (\d+)$/m.exec(text)?.[1])
    assert.equal(mail.received.length - mailsBefore + waiting, keys, text)
  })
