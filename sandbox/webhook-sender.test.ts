/**
 * How emulators send webhooks: in order, repeated until they are accepted, and with the faults that a command
 * sets.
 */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { makeWebhookSender, type OutgoingWebhook } from './webhook-sender.ts'

interface Arrived {
  readonly body: string
  readonly signature: string | undefined
}

async function makeGround(t: TestContext, retriesMs: readonly number[] = [60_000, 120_000]) {
  const arrived: Arrived[] = []
  const answers: number[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    arrived.push({
      body: Buffer.concat(chunks).toString(),
      signature: request.headers.signature?.toString(),
    })
    response.writeHead(answers.shift() ?? 200).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  let now = Date.parse('2026-11-20T21:15:00Z')
  const sender = makeWebhookSender({ clock: { now: () => now }, retriesMs, timeoutMs: 5000 })
  sender.target = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`
  t.after(async () => {
    await sender.close()
    server.close()
  })
  const pass = async (ms: number) => {
    now += ms
    sender.flush()
    await sender.settled()
  }
  return { sender, arrived, answers, pass, bodies: () => arrived.map(({ body }) => body) }
}

const hook = (kind: string): OutgoingWebhook => ({
  kind,
  sign: (attempt) => {
    const body = `{"kind":"${kind}","attempt":${attempt}}`
    return { body, headers: { signature: `of ${body}` } }
  },
})

test('webhooks are sent one after another, in the order in which they were made', async (t) => {
  const { sender, bodies } = await makeGround(t)
  const records = ['a', 'b', 'c'].map((kind) => sender.send(hook(kind)))
  await sender.settled()
  assert.deepEqual(
    bodies().map((body) => JSON.parse(body).kind),
    ['a', 'b', 'c'],
  )
  assert.ok(records.every((record) => record?.state === 'taken'))
})

test('a refused webhook is sent again after its wait, and dropped after the last attempt', async (t) => {
  const { sender, bodies, answers, pass } = await makeGround(t)
  answers.push(500, 401, 503)
  const record = sender.send(hook('a'))
  await sender.settled()
  await pass(59_999)
  assert.equal(bodies().length, 1)
  await pass(1)
  await pass(120_000)
  assert.deepEqual(record?.statuses, [500, 401, 503])
  assert.equal(record?.state, 'given_up')
  assert.equal(JSON.parse(bodies().at(-1) ?? '').attempt, 3)
  await pass(1_000_000)
  assert.equal(bodies().length, 3)
})

test('a webhook that nothing receives counts as unanswered and is sent again', async (t) => {
  const { sender, pass, bodies } = await makeGround(t)
  const { target } = sender
  sender.target = 'http://127.0.0.1:1/hook'
  const record = sender.send(hook('a'))
  await sender.settled()
  assert.deepEqual(record?.statuses, [null])
  sender.target = target
  await pass(60_000)
  assert.equal(record?.state, 'taken')
  assert.equal(bodies().length, 1)
})

test('it is sent late, twice, after the next one, or with the signature of another body', async (t) => {
  const { sender, bodies, arrived, pass } = await makeGround(t)
  const kinds = () => bodies().map((body) => JSON.parse(body).kind)
  sender.send(hook('late'), { lateMs: 30_000 })
  sender.send(hook('twice'), { twice: true })
  sender.send(hook('held'), { afterNext: true })
  await sender.settled()
  assert.deepEqual(kinds(), ['twice', 'twice'])
  sender.send(hook('next'))
  await sender.settled()
  assert.deepEqual(kinds().slice(2), ['next', 'held'])
  await pass(30_000)
  assert.deepEqual(kinds().slice(4), ['late'])
  sender.send(hook('forged'), { forged: true })
  await sender.settled()
  const last = arrived.at(-1)
  assert.equal(JSON.parse(last?.body ?? '').kind, 'forged')
  assert.notEqual(last?.signature, `of ${last?.body}`)
})

test('without an address nothing is sent, and after a reset no earlier webhook is sent', async (t) => {
  const { sender, bodies, pass } = await makeGround(t)
  sender.send(hook('late'), { lateMs: 1000 })
  sender.reset()
  await pass(2000)
  sender.target = null
  assert.equal(sender.send(hook('a')), null)
  await sender.settled()
  assert.deepEqual(bodies(), [])
})
