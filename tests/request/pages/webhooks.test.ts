/**
 * The pages of webhook endpoints: adding, testing, switching, rotating, removing, deliveries, and what is
 * refused.
 */
import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { eventTypes, syncEventTypes } from '#contract/events.ts'
import { newId } from '#kernel/ids.ts'
import { startWorker } from '#tests/request/webhooks/stage.ts'
import type { Fields, Jar } from '#tests/support/jar.ts'
import { type PagesWorld, type Person, startPages } from './world.ts'

interface Received {
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

let world: PagesWorld
let worker: ReturnType<typeof startWorker>
let receiver: Server
let url: string
const received: Received[] = []
let answer = { status: 200, text: 'thanks' }

before(async () => {
  world = await startPages()
  const failed = (_task: string, error: unknown) => assert.fail(String(error))
  const report = { attempt: () => {}, warning: () => {}, shredded: () => {}, failed }
  const { app, clock } = world.service
  worker = startWorker(app.store, { clock, report })
  receiver = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    received.push({ headers: request.headers, body: Buffer.concat(chunks).toString() })
    response.writeHead(answer.status).end(answer.text)
  })
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`
})
after(async () => {
  await worker.stop()
  await world.close()
  receiver.closeAllConnections()
  await new Promise((resolve) => receiver.close(resolve))
})

const secretOf = (text: string) => /<output name="secret"[^>]*>([^<]*)<\/output>/.exec(text)?.[1]
const endpointsOf = ({ id }: Person) => world.service.app.store.endpoints.list(id)

async function add(jar: Jar, fields: Fields = {}) {
  const page = await jar.get('/webhooks')
  const events = ['transactions.synced', 'trades.synced']
  return jar.post('/webhooks', { ...page.hidden, url, events, ...fields })
}

/** A person with one endpoint; `page` is that of the endpoint, with the secret. */
async function settle(fields: Fields = {}) {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  const made = await add(jar, fields)
  assert.equal(made.status, 303, made.text)
  const [endpoint] = await endpointsOf(person)
  assert.ok(endpoint !== undefined)
  const path = `/webhooks/${endpoint.id}`
  assert.equal(made.location, `${path}?done=created`)
  const page = await jar.get(made.location ?? '')
  // The page has several forms with the same token.
  const token = /name="token" value="([^"]*)"/.exec(page.text)?.[1] ?? ''
  return { person, jar, endpoint, path, page: { text: page.text, hidden: { token } } }
}

test('F7: a test event that the receiver refused is told as a problem, once', async () => {
  answer = { status: 500, text: 'broken' }
  const { jar, path, page } = await settle()
  const tested = await jar.post(`${path}/test`, page.hidden)
  const { text } = await jar.get(tested.location ?? '')
  assert.match(
    text,
    /class="alert"[^>]*>Your receiver did not accept the test event: the endpoint answered 500\. /,
  )
  assert.doesNotMatch(text, /role="status"|500, the endpoint answered 500/)
})

test('F18: the problem of the event checkboxes stands in their field, in plain words', async () => {
  const jar = await world.enter(await world.addPerson())
  const answer = await add(jar, { events: [] })
  assert.equal(answer.status, 400)
  assert.match(answer.text, /<fieldset class="field" aria-describedby="events-problem">/)
  assert.match(answer.text, /id="events-problem">Choose at least one</)
})

test('303: a visitor is redirected to the sign-in and back to the same page', async () => {
  assert.equal((await world.jar().get('/webhooks')).location, '/sign-in?return=%2Fwebhooks')
  const path = `/webhooks/${newId()}`
  const back = `/sign-in?return=${encodeURIComponent(path)}`
  assert.equal((await world.jar().get(path)).location, back)
})

test('an endpoint is added, its secret is shown once, and a test event arrives that the secret verifies', async () => {
  answer = { status: 200, text: 'thanks <b>' }
  received.length = 0
  const { jar, path, page } = await settle()
  const secret = secretOf(page.text) ?? ''
  assert.match(secret, /^whsec_/)
  assert.match(page.text, /role="status">The endpoint is added/)
  assert.match(page.text, /<strong>Ready<\/strong>\. Nothing was sent yet/, 'F13')
  assert.equal(secretOf((await jar.get(path)).text), undefined)
  const tested = await jar.post(`${path}/test`, page.hidden)
  assert.match(tested.location ?? '', /\?done=tested&test=[0-9a-f-]{36}$/)
  const [event] = received
  const {
    'webhook-id': id = '',
    'webhook-timestamp': at,
    'webhook-signature': signature,
  } = event?.headers ?? {}
  const signedAt = new Date(Number(at) * 1000)
  assert.equal(signature, new Webhook(secret).sign(String(id), signedAt, event?.body ?? ''))
  const shown = await jar.get(tested.location ?? '')
  assert.match(shown.text, /aria-label="Deliveries"/)
  assert.match(shown.text, /: 200, accepted, \d+ ms.*thanks &lt;b&gt;/)
  assert.match(shown.text, /delivered/)
  assert.match(shown.text, /role="status">Your receiver accepted the test event: 200, /)
  assert.match(shown.text, /\(test event\)/)
  assert.match((await jar.get(path)).text, /\(test event\)/)
  const other = await settle()
  const foreign = await other.jar.get(`${other.path}?${tested.location?.split('?')[1]}`)
  assert.doesNotMatch(foreign.text, /Your receiver/)
})

test('the choice of events and of skipping empty ones is kept; no choice and a bad address are refused at their fields', async () => {
  const { endpoint } = await settle({ events: 'trades.synced', skipEmpty: 'true', pending: 'true' })
  const { events, skipEmpty, pending } = endpoint
  assert.deepEqual([events, skipEmpty, pending], [['trades.synced'], true, true])
  const person = await world.addPerson()
  const jar = await world.enter(person)
  const none = await add(jar, { events: [] })
  assert.equal(none.status, 400)
  assert.match(none.text, /id="events-problem">Choose at least one/)
  const bad = await add(jar, { url: 'ftp://<x>', skipEmpty: 'true', events: 'trades.synced' })
  assert.equal(bad.status, 400)
  assert.match(bad.text, /id="url"[^>]*value="ftp:\/\/&lt;x&gt;"[^>]*aria-invalid="true"/)
  assert.match(bad.text, /name="skipEmpty" value="true" checked/)
  assert.match(bad.text, /value="trades.synced" checked/)
  assert.doesNotMatch(bad.text, /value="transactions.synced" checked/)
  assert.deepEqual(await endpointsOf(person), [])
})

test('R41: boxes for changes of connections are offered and not ticked; those that are chosen are kept and listed', async () => {
  const { jar, endpoint } = await settle({ events: ['trades.synced', 'connection.expiring'] })
  assert.deepEqual(endpoint.events, ['trades.synced', 'connection.expiring'])
  const { text } = await jar.get('/webhooks')
  assert.match(text, /Trades of brokers, Consent ends soon/)
  const boxes = [...text.matchAll(/name="events" value="([^"]*)"( checked)?/g)]
  assert.deepEqual(
    boxes.map(([, type]) => type),
    [...eventTypes],
  )
  const ticked = boxes.filter(([, , mark]) => mark !== undefined).map(([, type]) => type)
  assert.deepEqual(ticked, [...syncEventTypes])
})

test('409: the twenty-first endpoint is refused with what to do', async () => {
  const person = await world.addPerson()
  const jar = await world.enter(person)
  for (let made = 0; made < 20; made += 1) await add(jar)
  const refused = await add(jar)
  assert.equal(refused.status, 409)
  assert.match(refused.text, /role="alert">At most 20 webhook endpoints/)
})

test('a disabled endpoint takes no test event, says so, and is enabled again', async () => {
  const { person, jar, path, page } = await settle()
  assert.equal((await jar.post(`${path}/disable`, page.hidden)).location, `${path}?done=disabled`)
  assert.equal((await endpointsOf(person))[0]?.health, 'disabled')
  const refused = await jar.post(`${path}/test`, page.hidden)
  assert.equal(refused.status, 409)
  assert.match(refused.text, /role="alert">The webhook endpoint is disabled; enable it first/)
  assert.match((await jar.get(path)).text, /It was disabled by you or by the operator/)
  assert.equal((await jar.post(`${path}/enable`, page.hidden)).location, `${path}?done=enabled`)
  assert.equal((await endpointsOf(person))[0]?.health, 'healthy')
})

test('replacing the secret asks once and shows the new one once', async () => {
  const { jar, path, page } = await settle()
  const question = await jar.get(`${path}/rotate`)
  assert.match(question.text, /<h1>Replace the secret\?<\/h1>/)
  const kept = await jar.post(`${path}/rotate`, { ...question.hidden, decision: 'cancel' })
  assert.equal(kept.location, `${path}?done=kept`)
  const done = await jar.post(`${path}/rotate`, { ...question.hidden, decision: 'confirm' })
  const shown = await jar.get(done.location ?? '')
  const secret = secretOf(shown.text) ?? ''
  assert.match(secret, /^whsec_/)
  assert.notEqual(secret, secretOf(page.text))
})

test('a failed delivery shows the answer of the receiver, and is sent again on request', async () => {
  const { person, jar, path, page, endpoint } = await settle()
  answer = { status: 410, text: 'gone' }
  await jar.post(`${path}/test`, page.hidden)
  const gone = await jar.get(path)
  assert.match(gone.text, /the endpoint answered 410/)
  assert.match(gone.text, /Your receiver answered 410 Gone/)
  answer = { status: 200, text: 'back' }
  await jar.post(`${path}/enable`, page.hidden)
  const target = /action="([^"]*\/replay)"/.exec((await jar.get(path)).text)?.[1] ?? ''
  const again = await jar.post(target, page.hidden)
  assert.equal(again.location, `${path}?done=replayed`)
  const { store } = world.service.app
  for (let look = 0; look < 100; look += 1) {
    const [newest] = await store.deliveries.list(endpoint.id, { after: null, limit: 1 })
    if (newest?.status === 'succeeded' && newest.isReplay) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  assert.fail(`the replay of ${person.email} did not arrive`)
})

test('deliveries are shown twenty at a time, with a link to older ones', async () => {
  answer = { status: 200, text: '' }
  const { jar, path, page } = await settle()
  for (let sent = 0; sent < 21; sent += 1) await jar.post(`${path}/test`, page.hidden)
  const count = (text: string) => text.match(/<th role="rowheader" scope="row"><time/g)?.length
  const first = await jar.get(path)
  assert.equal(count(first.text), 20)
  const older = /<a href="([^"]*)">Older deliveries/.exec(first.text)?.[1] ?? ''
  const second = await jar.get(older)
  assert.equal(count(second.text), 1)
  assert.doesNotMatch(second.text, /Older deliveries/)
  assert.equal((await jar.get(`${path}?after=x`)).status, 200)
})

test('removing asks once, and then the endpoint is gone', async () => {
  const { person, jar, path } = await settle()
  const question = await jar.get(`${path}/remove`)
  await jar.post(`${path}/remove`, { ...question.hidden, decision: 'cancel' })
  assert.equal((await endpointsOf(person)).length, 1)
  const done = await jar.post(`${path}/remove`, { ...question.hidden, decision: 'confirm' })
  assert.equal(done.location, '/webhooks?done=removed')
  assert.deepEqual(await endpointsOf(person), [])
  assert.match((await jar.get('/webhooks?done=removed')).text, /The endpoint is removed/)
  assert.equal((await jar.get(path)).location, '/webhooks?done=gone')
})

test('another user’s endpoint does not exist: no page shows it and no form changes it', async () => {
  const { person, path, endpoint } = await settle()
  const stranger = await world.enter(await world.addPerson())
  const { hidden } = await stranger.get('/webhooks')
  for (const suffix of ['', '/rotate', '/remove']) {
    assert.equal((await stranger.get(path + suffix)).location, '/webhooks?done=gone')
  }
  for (const verb of [
    'test',
    'disable',
    'enable',
    'rotate',
    'remove',
    `deliveries/${newId()}/replay`,
  ]) {
    const refused = await stranger.post(`${path}/${verb}`, { ...hidden, decision: 'confirm' })
    assert.equal(refused.location, '/webhooks?done=gone', verb)
  }
  assert.deepEqual(await endpointsOf(person), [endpoint])
})

test('403: a form from elsewhere adds and changes nothing', async () => {
  const { person, jar, path, page } = await settle()
  const foreign = { origin: 'https://evil.example' }
  assert.equal((await jar.post('/webhooks', { ...page.hidden, url }, foreign)).status, 403)
  assert.equal((await jar.post(`${path}/disable`, page.hidden, foreign)).status, 403)
  assert.equal((await jar.post(`${path}/disable`, { token: 'A'.repeat(43) })).status, 403)
  assert.equal((await endpointsOf(person))[0]?.health, 'healthy')
})

// The last test, since it moves the clock of the others.
test('ten minutes after the password no endpoint is added and no secret replaced', async () => {
  const { person, jar, path, page } = await settle()
  world.service.clock.advance(10 * 60_000)
  const late = await jar.post(`${path}/rotate`, { ...page.hidden, decision: 'confirm' })
  assert.equal(late.location, '/sign-in?return=%2Fwebhooks')
  const created = await jar.post('/webhooks', { ...page.hidden, url, events: 'trades.synced' })
  assert.equal(created.location, '/sign-in?return=%2Fwebhooks')
  assert.match((await jar.get('/webhooks')).text, /Confirm your password/)
  assert.equal((await endpointsOf(person)).length, 1)
})

/** Test events that the receiver answered like this, with their deliveries, the newest first. */
async function send(statuses: readonly number[]) {
  const stage = await settle()
  for (const status of statuses) {
    answer = { status, text: '' }
    await stage.jar.post(`${stage.path}/test`, stage.page.hidden)
  }
  const { deliveries } = world.service.app.store
  return { ...stage, rows: await deliveries.list(stage.endpoint.id, { after: null, limit: 50 }) }
}

const eventsOf = (text: string) =>
  [...text.matchAll(/<code>([0-9a-f-]{36})<\/code><\/small>/g)].map(([, id]) => id)

test('F13: deliveries are searched by state and by day, and older ones stay within the search', async () => {
  const { jar, path, rows } = await send([200, 500, 200])
  const idsOf = (state: string) =>
    rows.filter(({ status }) => status === state).map(({ eventId }) => eventId)
  const shown = async (query: string) => eventsOf((await jar.get(`${path}?${query}`)).text)
  assert.deepEqual(await shown('state=succeeded'), idsOf('succeeded'))
  assert.deepEqual(await shown('state=pending'), idsOf('pending'))
  assert.deepEqual(await shown('state=failed'), [])
  assert.match((await jar.get(`${path}?state=failed`)).text, /No delivery matches/)
  assert.equal((await shown('state=nonsense&from=nonsense')).length, 3)
  assert.equal((await shown('from=2026-11-21')).length, 3)
  assert.deepEqual(await shown('from=2027-01-01'), [])
  assert.equal((await shown('from=0000-01-01')).length, 3)
  const [newest] = rows
  assert.deepEqual(
    await shown(`state=succeeded&after=${newest?.position}`),
    idsOf('succeeded').slice(1),
  )
})

test('F17: the name of a button that sends a delivery again begins with what is seen on it', async () => {
  const { jar, path } = await send([200])
  assert.match(
    (await jar.get(path)).text,
    /<button type="submit"[^>]* aria-label="Send again: event [^"]+">Send again</,
  )
})

test('F13: attempts of a day are drawn by hour, failed ones apart, with their latency as a table', async () => {
  const { jar, path } = await send([200, 500])
  const { text } = await jar.get(path)
  assert.match(
    text,
    /2 attempts in the last 24 hours, 1 failed; half of them took at most [\d,]+ ms/,
  )
  assert.match(text, /<rect class="turned-away"/)
  assert.match(text, /data-label="Attempts" class="sum">2<.*data-label="Failed" class="sum">1</s)
})

test('F13: the page of a delivery has the type and the payload for its owner, and says when it is gone', async () => {
  const { jar, path, rows, endpoint } = await send([200])
  const [row] = rows
  assert.ok(row !== undefined)
  const target = `${path}/deliveries/${row.id}`
  const { status, text } = await jar.get(target)
  assert.equal(status, 200)
  assert.match(text, /<h1>transactions\.synced<\/h1>/)
  const payload = /<pre class="untrusted" tabindex="0"><code>(.*?)<\/code>/s.exec(text)?.[1] ?? ''
  const sent = received.at(-1)?.body ?? ''
  assert.deepEqual(JSON.parse(payload.replaceAll('&quot;', '"')), JSON.parse(sent))
  const other = await settle()
  assert.equal((await other.jar.get(target)).location, '/webhooks?done=gone')
  assert.equal(
    (await other.jar.get(`${other.path}/deliveries/${row.id}`)).location,
    '/webhooks?done=gone',
  )
  await world.service.app.store.events.shred({
    ...{
      acceptedBefore: world.service.clock.now() + 1,
      now: world.service.clock.now(),
      limit: 500,
    },
  })
  assert.match((await jar.get(target)).text, /It is not kept any more/)
  assert.equal(endpoint.userId, row.userId)
})

test('F13: the events of days are sent again by one form; days that make no sense are refused at it', async () => {
  const { jar, path, page, endpoint } = await send([200])
  const ask = (firstDay: string, lastDay: string) =>
    jar.post(`${path}/replay`, { ...page.hidden, firstDay, lastDay })
  for (const days of [
    ['', ''],
    ['2026-11-22', '2026-11-21'],
    ['yesterday', '2026-11-21'],
    ['0000-01-01', '9999-12-31'],
  ] as const) {
    const refused = await ask(days[0], days[1])
    assert.equal(refused.status, 400)
    assert.match(refused.text, /Give a first and a last day/)
  }
  // Test events belong to no connection, so that there is nothing to send again.
  assert.equal((await ask('2026-11-01', '2026-11-30')).location, `${path}?done=empty`)
  const other = await settle()
  assert.equal(
    (await other.jar.post(`${path}/replay`, other.page.hidden)).location,
    '/webhooks?done=gone',
  )
  assert.equal((await world.service.app.store.endpoints.find(endpoint.id))?.health, 'healthy')
})

test('a receiver in three languages can be copied, with the id of the endpoint in it', async () => {
  const { jar, path, endpoint } = await settle()
  const { text } = await jar.get(path)
  for (const language of ['TypeScript', 'Python', 'Go']) {
    assert.ok(text.includes(`data-copy="the receiver in ${language}"`))
  }
  assert.equal(text.split(`Receives the events of endpoint ${endpoint.id}.`).length, 4)
})
