/** The operator's pages: behind the admin token, without money and without names of accounts. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { request } from 'undici'
import type { QueueSample } from '#telemetry/queue-samples.ts'
import { startService } from '#tests/support/service.ts'
import type { ProviderStanding } from '#usage/provider-states.ts'

const service = await startService()
const user = await service.createUser({ plan: 'professional' })
await service.link(user, 'healthy')
const email = (await service.app.store.users.find(user.id))?.email ?? ''
after(() => service.close())

interface Page {
  readonly status: number
  readonly location: string | undefined
  readonly cookie: string | undefined
  readonly text: string
}

async function ask(
  method: 'GET' | 'POST',
  path: string,
  { cookie = '', form }: { cookie?: string; form?: Record<string, string> } = {},
): Promise<Page> {
  const answer = await request(service.adminUrl + path, {
    method,
    headers: {
      cookie,
      ...(form === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }),
    },
    body: form === undefined ? null : new URLSearchParams(form).toString(),
  })
  const set = answer.headers['set-cookie']
  return {
    status: answer.statusCode,
    location: answer.headers.location as string | undefined,
    cookie: (Array.isArray(set) ? set[0] : set)?.split(';')[0],
    text: await answer.body.text(),
  }
}

async function signIn(): Promise<string> {
  const { status, location, cookie } = await ask('POST', '/sign-in', {
    form: { token: service.adminToken },
  })
  assert.deepEqual([status, location], [303, '/'])
  return cookie ?? ''
}

const formTokenOf = ({ text }: Page) => /name="formToken" value="([^"]+)"/.exec(text)?.[1] ?? ''
const paths = ['/', '/people', '/invitations', '/providers', '/queues', '/audit'] as const

test('303: without a sign-in every page leads to it, and a wrong token opens nothing', async () => {
  for (const path of [...paths, `/people/${user.id}`]) {
    const { status, location } = await ask('GET', path)
    assert.deepEqual([status, location], [303, '/sign-in'], path)
  }
  const wrong = await ask('POST', '/sign-in', { form: { token: `${service.adminToken}x` } })
  assert.equal(wrong.status, 401)
  assert.match(wrong.text, /The admin token is wrong/)
  assert.equal(wrong.cookie, undefined)
  assert.ok(!wrong.text.includes(service.adminToken))
  for (const token of ['', 'a b', 'ü', 'x\r\nhost: y', 'x'.repeat(5000)]) {
    assert.equal((await ask('POST', '/sign-in', { form: { token } })).status, 401)
  }
})

test('a cookie that was forged, has ended or is of another token opens nothing', async () => {
  const cookie = await signIn()
  const [name = '', value = ''] = cookie.split('=')
  const [until = '', signature = ''] = value.split('.')
  for (const forged of [
    `${name}=${Number(until) + 1}.${signature}`,
    `${name}=${until}.`,
    `${name}=${until}.${signature}x`,
    `${name}=`,
  ]) {
    assert.equal((await ask('GET', '/people', { cookie: forged })).status, 303)
  }
  assert.equal((await ask('GET', '/people', { cookie })).status, 200)
  service.clock.advance(8 * 3_600_000 + 1)
  assert.equal((await ask('GET', '/people', { cookie })).status, 303)
})

test('every page is shown, and none has money, a name of an account or a secret', async () => {
  const cookie = await signIn()
  const all = await service.app.store.accounts.list(user.id)
  const banks = (await service.app.store.connections.list(user.id)).map(
    (one) => one.institutionName,
  )
  // Some accounts have the name of their bank.
  const accounts = all.filter(({ name }) => !banks.includes(name))
  assert.ok(accounts.length > 3)
  for (const path of [...paths, `/people/${user.id}`]) {
    const page = await ask('GET', path, { cookie })
    assert.equal(page.status, 200, path)
    assert.match(page.text, /<h1>/)
    for (const { name } of accounts) {
      assert.ok(!page.text.includes(`>${name}<`), `${path} has ${name}`)
    }
    assert.ok(!page.text.includes(service.adminToken))
  }
})

test('people are listed with what is broken, and one is shown with connections and endpoints', async () => {
  const cookie = await signIn()
  const list = await ask('GET', '/people', { cookie })
  assert.ok(list.text.includes(`href="/people/${user.id}"`) && list.text.includes(email))
  assert.match(
    list.text,
    /data-label="Last seen">not signed in<.*data-label="Second factor">none</s,
  )
  const page = await ask('GET', `/people/${user.id}`, { cookie })
  assert.match(page.text, /<dt>Last seen<\/dt><dd>not signed in<\/dd>/)
  assert.match(page.text, /Kiwibank/)
  assert.match(page.text, /Ask to reconnect/)
  // The emoji has two UTF-16 units, of which the page keeps one.
  for (const person of ['nobody@example.test', encodeURIComponent(`${'x'.repeat(499)}😀`)]) {
    const nobody = await ask('GET', `/people/${person}`, { cookie })
    assert.equal(nobody.status, 404)
    assert.match(nobody.text, /User not found/)
  }
})

test('an invitation is made, sent again and withdrawn from its page; what is no address is said at the field', async () => {
  const cookie = await signIn()
  const formToken = formTokenOf(await ask('GET', '/invitations', { cookie }))
  const post = (path: string, form: Record<string, string>) =>
    ask('POST', path, { cookie, form: { formToken, ...form } })
  const made = await post('/invitations', { email: 'guest@example.test' })
  assert.equal(made.status, 200)
  assert.match(made.text, /<output name="secret"[^>]*>http[^<]*\/invitations\/[\w-]{43}</)
  assert.match(made.text, /aria-label="Send again: guest@example.test"/)
  const bad = await post('/invitations', { email: 'nobody' })
  assert.equal(bad.status, 400)
  assert.match(bad.text, /aria-invalid="true"/)
  const gone = await post('/invitations/withdraw', { email: 'guest@example.test' })
  assert.match(gone.text, /The invitation of guest@example.test is withdrawn/)
  assert.match(gone.text, /No invitation is open/)
})

test('403: a form without the token of this sign-in changes nothing', async () => {
  const cookie = await signIn()
  for (const formToken of ['', 'x'.repeat(43)]) {
    const form = { formToken, email: 'other@example.test' }
    assert.equal((await ask('POST', '/invitations', { cookie, form })).status, 403)
  }
  assert.equal((await ask('POST', '/invitations', { form: { email: 'a@b.example' } })).status, 401)
  const open = await ask('GET', '/invitations', { cookie })
  assert.match(open.text, /No invitation is open/)
})

test('401: a form whose sign-in has ended changes nothing, and the sign-in says so', async () => {
  const cookie = await signIn()
  const form = { formToken: formTokenOf(await ask('GET', '/invitations', { cookie })) }
  const late = await ask('POST', '/invitations', { form: { ...form, email: 'late@example.test' } })
  assert.equal(late.status, 401)
  assert.match(late.text, /Nothing was changed: you are not signed in any more\..*name="token"/s)
  assert.ok(!(await ask('GET', '/invitations', { cookie })).text.includes('late@example.test'))
  const out = await ask('POST', '/sign-out', { form })
  assert.deepEqual([out.status, out.location], [303, '/sign-in'])
})

test('asking to reconnect where there is no such person says that nobody was asked', async () => {
  const cookie = await signIn()
  const form = { formToken: formTokenOf(await ask('GET', `/people/${user.id}`, { cookie })) }
  const { status } = await ask('POST', '/people/nobody/remind', { cookie, form })
  assert.equal(status, 404)
})

test('asking to reconnect says what was mailed, and signing out ends the sign-in', async () => {
  const cookie = await signIn()
  const page = await ask('GET', `/people/${user.id}`, { cookie })
  const formToken = formTokenOf(page)
  const asked = await ask('POST', `/people/${user.id}/remind`, { cookie, form: { formToken } })
  assert.match(asked.text, /role="status">Nothing has to be reconnected/)
  const out = await ask('POST', '/sign-out', { cookie, form: { formToken } })
  assert.deepEqual([out.status, out.location], [303, '/sign-in'])
  assert.equal(out.cookie, 'tributary-operator=')
})

test('the audit is filtered by person and by action', async () => {
  const cookie = await signIn()
  const own = await ask('GET', `/audit?user=${user.id}&action=connections.`, { cookie })
  assert.match(own.text, /<code>connections\.link<\/code>/)
  assert.doesNotMatch(own.text, /<code>users\.create<\/code>/)
  const unknown = await ask('GET', '/audit?user=nobody%40example.test', { cookie })
  assert.equal(unknown.status, 404)
})

test('R21: breakers that are closed, open and half-open, and what is left of budgets, are on the page and in the admin API', async () => {
  const cookie = await signIn()
  const look = async (provider: string) => {
    const answer = await request(`${service.adminUrl}/admin/providers`, {
      headers: { authorization: `Bearer ${service.adminToken}` },
    })
    const { data } = (await answer.body.json()) as { readonly data: readonly ProviderStanding[] }
    return data.find((one) => one.provider === provider) ?? assert.fail(provider)
  }
  const row = async (name: string) => {
    const { text } = await ask('GET', '/providers', { cookie })
    return text.split('<tr role="row">').find((one) => one.includes(`>${name}<`)) ?? ''
  }
  const before = await look('akahu')
  const { seen } = before.connections
  assert.ok(seen > 0)
  assert.deepEqual(before.breakers, { closed: seen, open: 0, halfOpen: 0, openUntil: null })
  assert.match(await row('Akahu'), new RegExp(`>${seen} closed<`))
  const connections = await service.app.store.connections.list(user.id)
  const akahu = connections.find(({ provider }) => provider === 'akahu') ?? assert.fail()
  const read = () => service.get(`/v1/transactions?connectionId=${akahu.id}`, user)
  service.sandbox.akahu.addFault({ does: { kind: 'reply', reply: { status: 500 } } })
  for (const _ of [1, 2, 3]) assert.equal((await read()).status, 503)
  const opened = await look('akahu')
  assert.deepEqual([opened.breakers.open, opened.breakers.closed], [1, seen - 1])
  const left = Date.parse(opened.breakers.openUntil ?? '') - service.clock.now()
  assert.ok(left > 0 && left <= 60_000, String(left))
  assert.match(await row('Akahu'), /<strong class="trouble">1 open<\/strong> until <time/)
  service.sandbox.akahu.clearFaults()
  service.clock.advance(61_000)
  assert.equal((await look('akahu')).breakers.halfOpen, 1)
  assert.match(await row('Akahu'), /1 half-open: the next request decides/)
  assert.equal((await read()).status, 200)
  assert.equal((await look('akahu')).breakers.closed, seen)
  const { budget } = await look('snaptrade')
  assert.deepEqual([budget?.calls, budget?.isShared, before.budget], [200, true, null])
  assert.match(await row('SnapTrade'), /\d+ of 200 left in this minute, of the whole installation/)
  assert.match(await row('Up'), /\d+ of 1000 left in this hour, at the lowest of 1 login </)
})

test('the queues are shown with what waits now, on the page and in the admin API', async () => {
  const cookie = await signIn()
  const answer = await request(`${service.adminUrl}/admin/queues`, {
    headers: { authorization: `Bearer ${service.adminToken}` },
  })
  const { data } = (await answer.body.json()) as { readonly data: readonly QueueSample[] }
  const linked = await service.app.store.connections.list(user.id)
  assert.deepEqual(data[0], {
    at: new Date(service.clock.now()).toISOString(),
    syncsDue: linked.length,
    deliveriesPending: 0,
    mailsWaiting: 0,
  })
  const { text } = await ask('GET', '/queues', { cookie })
  assert.match(text, new RegExp(`data-label="Syncs due" class="sum">${linked.length}<`))
})

test('thirty wrong tokens in a minute are refused like those of the API', async () => {
  let refused: Page | null = null
  for (let guesses = 0; guesses < 40 && refused?.status !== 429; guesses += 1) {
    refused = await ask('POST', '/sign-in', { form: { token: 'wrong' } })
  }
  assert.equal(refused?.status, 429)
  assert.match(refused?.text ?? '', /Too many requests with a wrong admin token/)
  assert.match(await signIn(), /^tributary-operator=/, 'the right one is always accepted')
})
