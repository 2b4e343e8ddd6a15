/** The overview: what needs its owner, one line for what does not, the search, and the river. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { ConnectionStatus } from '#contract/resources.ts'
import type { KeyId } from '#kernel/ids.ts'
import { newId } from '#kernel/ids.ts'
import {
  accept,
  addEndpoint,
  claimEndpoint,
  newEvent,
  recordAs,
} from '#tests/contract/store/event-rows.ts'
import { plantBank } from '#tests/support/bank.ts'
import { type Person, startPages } from './world.ts'

const world = await startPages()
after(() => world.close())

const dayMs = 86_400_000

async function plant(
  { id }: Person,
  institutionName: string,
  over: { status?: ConnectionStatus; consentExpiresAt?: number; accounts?: object[] } = {},
) {
  const user = { id, key: '', keyId: newId<KeyId>() }
  const planted = await plantBank(world.service, user, { institutionName, ...over })
  return planted.connection
}

const count = (text: string, pattern: RegExp) => text.match(pattern)?.length ?? 0

test('F12: one sentence says whether somebody is needed; who needs them is a card, the others are one line each', async () => {
  const person = await world.addPerson()
  await plant(person, 'Quiet Bank')
  const jar = await world.enter(person)
  const well = (await jar.get('/')).text
  assert.match(well, /<strong>All well<\/strong>/)
  assert.deepEqual(
    [count(well, /class="card connection"/g), count(well, /class="monogram"/g)],
    [0, 1],
  )
  await plant(person, 'Loud Bank', { status: 'invalidated' })
  await plant(person, 'Lost Bank', { status: 'revoked' })
  const { text } = await jar.get('/')
  assert.match(text, /<strong>2 of 3 need you<\/strong>/)
  assert.deepEqual(
    [count(text, /class="card connection"/g), count(text, /class="monogram"/g)],
    [2, 1],
  )
  assert.match(text, /aria-hidden="true">Q<\/span>/)
})

test('a line tells the accounts, the age of the data and what is left of the consent', async () => {
  const person = await world.addPerson()
  const now = world.service.clock.now()
  await plant(person, 'Wattle', {
    accounts: ['A', 'B', 'C', 'D'].map((name) => ({ name })),
    consentExpiresAt: now + 100 * dayMs,
  })
  const jar = await world.enter(person)
  const fresh = (await jar.get('/')).text
  assert.match(fresh, /class="holds">A, B, C and 1 more</)
  assert.match(fresh, /class="age fresh"/)
  assert.match(fresh, /value="100" aria-label="Left of the consent"><\/meter> <small>100 days left/)
  world.service.clock.advance(60 * dayMs)
  const old = (await (await world.enter(person)).get('/')).text
  assert.match(old, /class="age old"/)
  assert.match(old, /value="40" aria-label="Left of the consent"><\/meter> <small>40 days left/)
})

test('F12: a search is offered from ten connections on, and looks into names of accounts and one’s own names', async () => {
  const person = await world.addPerson()
  for (let index = 1; index <= 9; index += 1) {
    await plant(person, `Bank ${index}`, { accounts: [{ name: `Épargne ${index}` }] })
  }
  const jar = await world.enter(person)
  assert.doesNotMatch((await jar.get('/')).text, /role="search"/)
  const row = await plant(person, 'Bank 10')
  const { hidden } = await jar.get(`/connections/${row.id}`)
  const named = { token: hidden.token ?? '', label: 'Rainy days' }
  assert.equal((await jar.post(`/connections/${row.id}`, named)).status, 303)
  const lines = async (q: string) => count((await jar.get(`/?q=${q}`)).text, /class="monogram"/g)
  assert.match((await jar.get('/')).text, /role="search"/)
  assert.deepEqual(
    [await lines(''), await lines('epargne%203'), await lines('RAINY'), await lines('bank%2010')],
    [10, 1, 1, 1],
  )
  const nothing = (await jar.get('/?q=%3Cscript%3E')).text
  assert.match(nothing, /No connection matches “<span class="foreign">&lt;script&gt;<\/span>”/)
  assert.doesNotMatch(nothing, /<script>/)
})

test('F12: endpoints that fail and keys that end within a fortnight are told, those switched off by their owner are not', async () => {
  const person = await world.addPerson()
  await plant(person, 'Quiet Bank')
  const { app, clock } = world.service
  const make = async (name: string) => {
    const made = await app.store.endpoints.create(
      {
        userId: person.id,
        url: `https://${name}.example/hook`,
        events: ['transactions.synced'],
        skipEmpty: false,
        secret: 'whsec_x',
        createdAt: clock.now(),
      },
      20,
    )
    assert.ok(made !== 'too_many')
    return made
  }
  const [failing, off] = [await make('failing'), await make('off')]
  const change = { failures: 3, failingSince: clock.now(), warnedDays: 0 }
  const { endpoints } = app.store
  await endpoints.setHealth(failing.id, { ...change, health: 'degraded', disabledReason: null })
  await endpoints.setHealth(off.id, { ...change, health: 'disabled', disabledReason: 'owner' })
  for (const [name, days] of [
    ['soon', 13],
    ['later', 15],
  ] as const) {
    const expires = new Date(clock.now() + days * dayMs).toISOString()
    await app.actions.createKey({ actor: { kind: 'operator' } }, person.id, { name, expires })
  }
  const { text } = await (await world.enter(person)).get('/')
  assert.match(text, /<strong>2 things need you<\/strong>/)
  const needs = /<ul class="needs">.*?<\/ul>/s.exec(text)?.[0] ?? ''
  assert.match(needs, /failing\.example.*Failing/s)
  assert.match(needs, /The key .*soon/s)
  assert.doesNotMatch(needs, /off\.example|later/)
})

test('the river shows syncs, requests and deliveries of thirty days, and its table has the same numbers', async () => {
  const person = await world.addPerson()
  const row = await plant(person, 'Up the River')
  const { app, clock } = world.service
  const { key } = await app.actions.createKey({ actor: { kind: 'operator' } }, person.id, {
    name: 'k',
  })
  for (let times = 0; times < 3; times += 1) {
    await world.service.get('/v1/connections', `Bearer ${key}`)
  }
  const claimed = await app.store.syncs.claim(row.id, {
    ...{ now: clock.now(), leaseMs: 60_000, reason: 'schedule' },
  })
  assert.ok(claimed?.kind === 'claimed')
  const failed = { kind: 'failed', code: 'unavailable', message: 'not shown' } as const
  await app.store.syncs.finish(claimed.sync.runId, {
    ...{ outcome: failed, endedAt: clock.now(), nextDueAt: clock.now() + dayMs },
  })
  const { id } = await addEndpoint(app.store, person.id)
  for (const createdAt of [clock.now() - 31 * dayMs, clock.now(), clock.now()]) {
    await accept(app.store, [newEvent(person.id, row.id, { createdAt })], id)
  }
  const lease = (await claimEndpoint(app.store, id, clock.now()))?.lease ?? ''
  const [due] = await app.store.deliveries.listDue(id, { now: clock.now(), limit: 1 })
  for (let times = 0; times < 5; times += 1) {
    const decision = { kind: 'retry', dueAt: clock.now() } as const
    assert.ok(
      due && (await recordAs(app.store, lease, due.id, { decision, attempt: { at: clock.now() } })),
    )
  }
  const { text } = await (await world.enter(person)).get('/')
  const figure = /<figure class="river".*?<\/figure>/s.exec(text)?.[0] ?? ''
  assert.match(
    figure,
    /From Up the River: 1 sync\. To k: 3 requests; consumer\.example\.test\/hook: 2 deliveries"/,
  )
  assert.match(figure, /<title>Up the River: 1 sync, needs you<\/title>/)
  assert.match(figure, /<title>k: 3 requests<\/title>/)
  assert.match(figure, /<path class="bad"/)
  const cells = [...figure.matchAll(/data-label="Traffic" class="sum">([^<]*)</g)].map(
    ([, cell]) => cell,
  )
  assert.deepEqual(cells, ['1 sync', '3 requests', '2 deliveries'])
})
