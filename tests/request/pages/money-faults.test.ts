/** The pages of money with hostile texts, providers that hang, limits that are used up, and many readers. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { type KeyId, newId } from '#kernel/ids.ts'
import { fiskilRow, plantFiskil } from '#tests/request/list-transactions/planted.ts'
import { linkBroker, position } from '#tests/support/broker.ts'
import { type PagesWorld, startPages } from './world.ts'

const world = await startPages({ env: { UPSTREAM_TIMEOUT_MS: '1500', RATE_LIMIT_MID: '3' } })
after(() => world.close())

async function settle(provider: 'fiskil' | 'akahu' = 'fiskil') {
  const person = await world.addPerson()
  const user = { id: person.id, key: '', keyId: newId<KeyId>() }
  await world.service.link(user, 'healthy', provider)
  return { person, jar: await world.enter(person) }
}

async function accountCalled(userId: Parameters<typeof find>[0], name: string) {
  const accounts = await find(userId)
  return accounts.find((one) => one.name === name) ?? assert.fail(`no account is called ${name}`)
}
const find = (userId: Awaited<ReturnType<PagesWorld['addPerson']>>['id']) =>
  world.service.app.store.accounts.list(userId)

const amountsOf = (text: string) =>
  [...text.matchAll(/<data class="amount" value="([^"]*)">/g)].map(([, value]) => value ?? '')

test('texts of others cannot break out of their cell, and an amount of thirty digits stays exact', async () => {
  const { person, jar } = await settle()
  const { id } = await accountCalled(person.id, 'Bonus Saver')
  const long = '-123456789012345678901234567890.12'
  const texts = [
    '<script>alert(1)</script>',
    '"><img src=x onerror=alert(1)>',
    'pay \u202emoc.elpmaxe\u202c now',
    'bell \u0007 and \u0000 nothing',
    '👩‍👩‍👧‍👦 family',
    'مرحبا بالعالم',
  ]
  plantFiskil(
    world.service,
    'Bonus Saver',
    texts.map((description, at) =>
      fiskilRow(`r${at}`, `2026-11-20T0${9 - at}:00:00Z`, {
        description,
        amount: at === 0 ? long : '-1.00',
      }),
    ),
  )
  const { status, text } = await jar.get(`/money/${id}?show=1`)
  assert.equal(status, 200)
  assert.ok(amountsOf(text).includes(long))
  assert.ok(!/<script>alert|<img src=x/.test(text))
  assert.ok(text.includes('&lt;script&gt;alert(1)&lt;/script&gt;'))
  assert.ok(text.includes('\\u202emoc.elpmaxe\\u202c'), 'the direction is told, not obeyed')
  assert.ok(!/[\u0000\u0007\u202e]/.test(text))
  assert.ok(text.includes('👩‍👩‍👧‍👦 family') && text.includes('مرحبا بالعالم'))
})

test('a provider that hangs delays the page for one timeout, and is named at its accounts alone', async (t) => {
  const person = await world.addPerson()
  const user = { id: person.id, key: '', keyId: newId<KeyId>() }
  await world.service.link(user, 'healthy', 'fiskil')
  await world.service.link(user, 'healthy', 'akahu')
  const jar = await world.enter(person)
  const { akahu } = world.service.sandbox
  akahu.addFault({ when: ({ path }) => path.endsWith('/accounts'), does: { kind: 'hang' } })
  t.after(() => akahu.clearFaults())
  const startedAt = performance.now()
  const { status, text } = await jar.get('/money?show=1')
  assert.equal(status, 200)
  assert.ok(performance.now() - startedAt < 20_000)
  assert.match(text, /It could not be read now/)
  assert.ok(amountsOf(text).length > 0, 'the other provider is shown')
  assert.match(text, /<strong>Not whole\.<\/strong>/)
})

test('an account of a broker that is not ready is said to be prepared, and keeps no other from being shown', async () => {
  const person = await world.addPerson()
  const user = { id: person.id, key: '', keyId: newId<KeyId>() }
  const waiting = { name: 'Margin', holdingsSynced: false }
  const full = { positions: [position()] }
  const { accounts } = await linkBroker(world.service, user, [full, full, waiting])
  const jar = await world.enter(person)
  const { text } = await jar.get('/money?show=1')
  assert.deepEqual(amountsOf(text), ['200', '100', '100'])
  assert.match(text, /<strong>Not whole\.<\/strong>/)
  const [, , margin] = accounts
  const alone = await jar.get(`/money/${margin?.id}?show=1`)
  assert.match(alone.text, /SnapTrade is still preparing these data/)
})

test('an account of a broker that has left while it was read is not known, and is not one without positions', async () => {
  const person = await world.addPerson()
  const user = { id: person.id, key: '', keyId: newId<KeyId>() }
  const full = { positions: [position()] }
  const broker = await linkBroker(world.service, user, [full, { ...full, name: 'Gone' }, {}])
  const jar = await world.enter(person)
  broker.person.connections[0]?.accounts.splice(1, 1)
  const { text } = await jar.get('/money?show=1')
  assert.deepEqual(amountsOf(text), ['100', '100'])
  assert.match(text, /Not known\.<\/strong> It has left its institution, or has another id there/)
  assert.equal(text.match(/No positions/g)?.length, 1, 'the one that has none')
  assert.match(text, /<strong>Not whole\.<\/strong>/)
})

test('who presses too often is told when to try again, and nothing looks like an amount', async () => {
  const { jar } = await settle()
  let text = ''
  for (let presses = 0; presses < 8; presses += 1) {
    world.service.clock.advance(301_000 / 8)
    text = (await jar.get('/money?show=1')).text
  }
  for (let presses = 0; presses < 8; presses += 1) text = (await jar.get('/money?show=1')).text
  assert.match(text, /You have read much in this minute\. Try again in \d+ seconds\./)
  assert.deepEqual(amountsOf(text), [])
})

test('many people who read at once see their own numbers alone, and none after signing out', async () => {
  const rows = [
    fiskilRow('a', '2026-11-20T09:00:00Z', { amount: '-11.11' }),
    fiskilRow('b', '2026-11-20T08:00:00Z', { amount: '-22.22' }),
  ]
  const one = await settle()
  const nz = await settle('akahu')
  plantFiskil(world.service, 'Bonus Saver', rows)
  const own = await accountCalled(one.person.id, 'Bonus Saver')
  const other = await accountCalled(nz.person.id, 'Rainy Day')
  world.service.clock.advance(3_600_000)
  const pages = await Promise.all(
    [...Array(3).keys()].flatMap(() => [
      one.jar.get(`/money/${own.id}?show=1`),
      nz.jar.get(`/money/${other.id}?show=1`),
      one.jar.get(`/money/${other.id}?show=1`),
      nz.jar.get(`/money/${own.id}?show=1`),
    ]),
  )
  for (const [at, { status, text }] of pages.entries()) {
    const isForeign = at % 4 > 1
    if (isForeign) assert.notEqual(status, 200)
    if (at % 4 !== 0) assert.ok(!/-11\.11|-22\.22/.test(text), `page ${at}`)
  }
  const { hidden } = await one.jar.get('/')
  await one.jar.post('/sign-out', { token: hidden.token ?? '' })
  const back = await one.jar.get(`/money/${own.id}?show=1`)
  assert.equal(back.status, 303)
})
