/**
 * The overview, the list of connections and the page of one: what they show, and what a person can do there.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { ConnectionStatus } from '#contract/resources.ts'
import { type KeyId, newId } from '#kernel/ids.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'
import { type BankPlan, plantBank } from '#tests/support/bank.ts'
import { type Person, startPages } from './world.ts'

const world = await startPages()
after(() => world.close())

const asUser = ({ id }: Person) => ({ id, key: '', keyId: newId<KeyId>() })
const full = { status: 429, headers: { 'retry-after': '50000' } }
const down = { does: { kind: 'reply', reply: full } } as const
const plant = async (person: Person, plan: BankPlan = {}) =>
  (await plantBank(world.service, asUser(person), plan)).connection
const link = (person: Person, name: Parameters<typeof world.service.link>[1]) =>
  world.service.link(asUser(person), name)

/** Ends a run of the connection's sync. */
async function addRun({ id }: ConnectionRow, code: string | null): Promise<void> {
  const { app, clock } = world.service
  const { syncs } = app.store
  const options = { now: clock.now(), leaseMs: 60_000, reason: 'operator' } as const
  const claimed = await syncs.claim(id, options)
  assert(claimed?.kind === 'claimed')
  const outcome =
    code === null
      ? ({
          kind: 'succeeded',
          ...{ newCount: 3, updatedCount: 1, chunks: 1, rowsReadAt: null, ledgerFrom: null },
        } as const)
      : ({ kind: 'failed', code, message: 'no sentence of a provider' } as const)
  const end = { outcome, endedAt: clock.now(), nextDueAt: clock.now() + 3_600_000 }
  assert.equal(await syncs.finish(claimed.sync.runId, end), true)
}

test('without a connection the list says what it is for and has one button', async () => {
  const jar = await world.enter(await world.addPerson())
  const page = await jar.get('/connections')
  assert.equal(page.status, 200)
  assert.match(page.text, /leads to one bank or broker/)
  const main = page.text.slice(page.text.indexOf('<main'))
  assert.equal(main.match(/<button|class="button/g)?.length, 1)
  assert.match(main, /<a href="\/connections\/new" class="button">Link a bank or broker</)
})

test('a visitor is sent to the sign-in and back to the same page', async () => {
  const person = await world.addPerson()
  const row = await plant(person)
  for (const path of ['/connections', `/connections/${row.id}`, '/connections/new?provider=up']) {
    const answer = await world.jar().get(path)
    const back = `/sign-in?return=${encodeURIComponent(path)}`
    assert.deepEqual([answer.status, answer.location], [303, back])
  }
})

test('another person’s connection, one that is being removed and nonsense do not exist', async () => {
  const [person, other] = [await world.addPerson(), await world.addPerson()]
  const theirs = await plant(other)
  const leaving = await plant(person)
  await world.service.app.store.connections.setStatus(leaving.id, 'deleting')
  const jar = await world.enter(person)
  const { hidden } = await jar.get('/connections')
  for (const id of [theirs.id, leaving.id, 'x', '00000000-0000-4000-8000-000000000000']) {
    for (const path of [`/connections/${id}`, `/connections/${id}/remove`]) {
      const answer = await jar.get(path)
      assert.deepEqual([answer.status, answer.location], [303, '/connections?done=gone'])
    }
    for (const verb of ['refresh', 'reconnect', 'remove']) {
      const fields = { ...hidden, decision: 'confirm' }
      const answer = await jar.post(`/connections/${id}/${verb}`, fields)
      assert.deepEqual([answer.status, answer.location], [303, '/connections?done=gone'])
    }
  }
  const said = await jar.get('/connections?done=gone')
  assert.match(said.text, /role="status">That connection does not exist/)
  assert.equal((await world.service.app.store.connections.find(theirs.id))?.status, 'active')
})

test('every status has its sentence, and what needs its owner comes first', async () => {
  const person = await world.addPerson()
  const names: Readonly<Record<ConnectionStatus, RegExp>> = {
    active: /Your consent is active/,
    pending_mfa: /waits for a second factor/,
    invalidated: /has expired/,
    revoked: /consent was withdrawn/,
  }
  for (const status of Object.keys(names) as ConnectionStatus[]) {
    await plant(person, { status, institutionName: `Bank ${status}` })
  }
  const jar = await world.enter(person)
  const overview = (await jar.get('/')).text
  const order = [...overview.matchAll(/class="foreign">Bank (\w+)</g)].map(([, name]) => name)
  assert.equal(order.length, 4)
  assert.deepEqual(order.slice(2), ['pending_mfa', 'active'])
  for (const row of await world.service.app.store.connections.list(person.id)) {
    assert(row.status !== 'deleting')
    const { status, text } = await jar.get(`/connections/${row.id}`)
    assert.equal(status, 200)
    assert.match(text, names[row.status])
  }
})

test('a failed sync is told in our words, with the next one and the end of the consent', async () => {
  const person = await world.addPerson()
  const now = world.service.clock.now()
  const row = await plant(person, { consentExpiresAt: now + 86_400_000 })
  await addRun(row, null)
  world.service.clock.advance(1000)
  await addRun(row, 'unavailable')
  const jar = await world.enter(person)
  for (const path of ['/', `/connections/${row.id}`]) {
    const { text } = await jar.get(path)
    assert.match(
      text,
      /Last error<\/dt><dd class="wide">.*did not answer. It is tried again by itself/,
    )
    assert.match(text, /Next sync<\/dt><dd><time datetime="2026-11-21T03:/)
    assert.match(text, /Consent<\/dt><dd>ends <time datetime="2026-11-22T/)
    assert.match(text, /aria-label="Syncs in the last 30 days: 1 succeeded, 1 failed on 1 day"/)
    assert.doesNotMatch(text, /no sentence of a provider/)
  }
  const { text } = await jar.get(`/connections/${row.id}`)
  assert.match(text, /Done: 3 rows new, 1 changed/)
  assert.match(text, /<th scope="row">21 Nov 2026<\/th><td>1<\/td><td>1<\/td>/)
})

test('the page lists accounts by name with masked numbers and no money', async () => {
  const person = await world.addPerson()
  const [row] = await link(person, 'healthy')
  assert(row)
  const text = (await (await world.enter(person)).get(`/connections/${row.id}`)).text
  const accounts = await world.service.app.store.accounts.listByConnection(person.id, row.id)
  assert.ok(accounts.length > 1)
  const places = accounts
    .toSorted((a, b) => new Intl.Collator('und').compare(a.name, b.name))
    .map(({ name }) => text.indexOf(`>${name}</span>`))
  assert.deepEqual(
    places,
    places.toSorted((a, b) => a - b),
  )
  for (const { accountNumber } of accounts) {
    assert.match(text, new RegExp(`data-label="Number">${accountNumber ?? 'Not provided'}<`))
  }
})

test('F3: a connection that was linked a moment ago is not called unchecked', async () => {
  const person = await world.addPerson()
  const { id } = await plant(person)
  const jar = await world.enter(person)
  for (const path of ['/', `/connections/${id}`]) {
    const { text } = await jar.get(path)
    assert.match(text, /read when you linked it|first check in progress/)
    assert.doesNotMatch(text, /not checked in the last 30 days/)
  }
})

test('F5: a connection whose syncs fail has the same words in the list, on the overview and on its page', async () => {
  const person = await world.addPerson()
  const row = await plant(person)
  await addRun(row, 'unavailable')
  const jar = await world.enter(person)
  for (const path of ['/', '/connections', `/connections/${row.id}`]) {
    const { text } = await jar.get(path)
    assert.match(text, /<strong class="trouble">Sync failing<\/strong>/, path)
    assert.doesNotMatch(text, /Working/, path)
  }
  const { text } = await jar.get(`/connections/${row.id}`)
  assert.match(
    text,
    /Sync failing<\/strong>\. [^<]*did not answer\. It is tried again by itself\. Next attempt: /,
  )
})

test('F5: a connection whose provider asks us to wait needs nobody, and its page says what it waits for', async () => {
  const person = await world.addPerson()
  const row = await plant(person)
  await addRun(row, 'throttled')
  const jar = await world.enter(person)
  for (const path of ['/', '/connections', `/connections/${row.id}`]) {
    const { text } = await jar.get(path)
    assert.doesNotMatch(text, /Sync failing|needs you/, path)
    assert.match(text, /Working/, path)
  }
  const { text } = await jar.get(`/connections/${row.id}`)
  assert.match(text, /asked us to wait\. It is tried again by itself/)
})

test('F6: after a renewal the error of the lost consent is not shown any more', async () => {
  const person = await world.addPerson()
  const row = await plant(person)
  await addRun(row, 'consent_lost')
  const { text } = await (await world.enter(person)).get(`/connections/${row.id}`)
  assert.match(text, /Working/)
  assert.doesNotMatch(text, /Last error/)
})

test('an account of points has no currency, which is said in a word', async () => {
  const person = await world.addPerson()
  const { id } = await plant(person, { accounts: [{ currency: 'XXX' }, { currency: 'NZD' }] })
  const { text } = await (await world.enter(person)).get(`/connections/${id}`)
  const shown = [...text.matchAll(/data-label="Currency">([^<]*)</g)].map(([, word]) => word)
  assert.deepEqual(shown.toSorted(), ['NZD', 'none'])
})

test('refresh reads the connection once a minute, and says so', async () => {
  const person = await world.addPerson()
  const [row] = await link(person, 'healthy')
  assert(row)
  await addRun(row, null)
  const jar = await world.enter(person)
  const press = async () => {
    const { hidden } = await jar.get(`/connections/${row.id}`)
    const { status, location } = await jar.post(`/connections/${row.id}/refresh`, hidden)
    assert.equal(status, 303)
    return (await jar.get(location ?? '')).text
  }
  assert.match(await press(), /role="status">Consent and accounts were read just now/)
  assert.match(await press(), /role="status">It was read less than a minute ago/)
  world.service.clock.advance(61_000)
  assert.match(await press(), /role="status">Consent and accounts were read just now/)
  const rows = await world.service.app.store.auditLog.list({
    ...{ userId: person.id, after: null, limit: 20 },
  })
  assert.equal(rows.filter(({ action }) => action === 'connections.refresh').length, 2)
  const states = await world.service.app.store.syncs.listStates(person.id)
  const state = states.find(({ connectionId }) => connectionId === row.id)
  assert.ok(state?.nextAt !== null && Number(state?.nextAt) <= world.service.clock.now())
})

test('a refresh that finds the consent lost says what it needs', async () => {
  const person = await world.addPerson()
  const rows = await link(person, 'healthy')
  const row = rows.find(({ provider }) => provider === 'fiskil')
  const { consents } = world.service.sandbox.fiskil.people.healthy ?? assert.fail('nobody')
  const consent = consents.find(({ arrangementId }) => arrangementId === row?.upstreamId)
  assert(row && consent)
  const jar = await world.enter(person)
  const { hidden } = await jar.get(`/connections/${row.id}`)
  const end = consent.expiresAtMs
  consent.expiresAtMs = world.service.clock.now() - 1
  try {
    const answer = await jar.post(`/connections/${row.id}/refresh`, hidden)
    assert.equal(answer.location, `/connections/${row.id}?done=lost`)
    assert.match(
      (await jar.get(answer.location ?? '')).text,
      /<strong class="trouble">Expired<\/strong>/,
    )
  } finally {
    consent.expiresAtMs = end
  }
})

test('a provider that cannot be asked is told on the page, and nothing is changed', async () => {
  const person = await world.addPerson()
  const rows = await link(person, 'healthy')
  const row = rows.find(({ provider }) => provider === 'fiskil')
  assert(row)
  const jar = await world.enter(person)
  const { hidden } = await jar.get(`/connections/${row.id}`)
  world.service.sandbox.fiskil.addFault(down)
  try {
    const answer = await jar.post(`/connections/${row.id}/refresh`, hidden)
    assert.equal(answer.status, 503)
    assert.match(answer.text, /role="alert">Fiskil could not be asked now.* Try again in 14 hours;/)
  } finally {
    world.service.sandbox.fiskil.clearFaults()
  }
})

test('reconnecting leads to the page of the provider, where it has one', async () => {
  const person = await world.addPerson()
  const row = (await link(person, 'healthy')).find(({ provider }) => provider === 'akahu')
  assert(row)
  const jar = await world.enter(person)
  const page = await jar.get(`/connections/${row.id}`)
  const answer = await jar.post(`/connections/${row.id}/reconnect`, page.hidden)
  assert.equal(answer.status, 303, answer.text)
  assert.notEqual(new URL(answer.location ?? '').origin, world.service.baseUrl)
  assert.match(String(page.headers['content-security-policy']), /form-action 'self' http/)
})

test('a connection by a key of one’s own is reconnected with a new key, which is not shown again', async () => {
  const person = await world.addPerson()
  const row = (await link(person, 'healthy')).find(({ provider }) => provider === 'up')
  const given = world.service.sandbox.person('healthy').find(({ provider }) => provider === 'up')
  assert(row && given?.provider === 'up')
  await world.service.app.store.connections.setStatus(row.id, 'invalidated')
  const jar = await world.enter(person)
  const path = `/connections/${row.id}/reconnect`
  const form = await jar.get(path)
  assert.match(form.text, /<label for="upToken">Personal access token<\/label>/)
  for (const upToken of ['', 'up:yeah:nobody-has-this-token']) {
    const refused = await jar.post(path, { ...form.hidden, upToken })
    assert.equal(refused.status, 400, refused.text)
    assert.match(refused.text, /class="problem"|role="alert"/)
    if (upToken !== '') assert.ok(!refused.text.includes(upToken))
  }
  const done = await jar.post(path, { ...form.hidden, upToken: given.token })
  assert.equal(done.location, `/connections/${row.id}?done=reconnected`)
  assert.equal((await world.service.app.store.connections.find(row.id))?.status, 'active')
  // The button of the overview does not know that a key is needed.
  const bare = await jar.post(path, form.hidden)
  assert.equal(bare.location, path)
})

test('F11, F19: removal asks once and tells the accounts, with the red button last; kept changes nothing, confirmed removes the connection', async () => {
  const person = await world.addPerson()
  const rows = await link(person, 'healthy')
  const row = rows.find(({ provider }) => provider === 'fiskil')
  assert(row)
  const jar = await world.enter(person)
  const remove = `/connections/${row.id}/remove`
  const question = await jar.get(remove)
  assert.match(question.text, /<h1>Remove this connection\?<\/h1>/)
  const names = await world.service.app.store.accounts.listByConnection(row.userId, row.id)
  assert.ok(names.length > 0)
  for (const { name } of names.slice(0, 2)) assert.ok(question.text.includes(name), name)
  assert.match(
    question.text,
    /value="cancel" class="secondary outline".*value="confirm" class="danger"/s,
  )
  assert.match(question.text, /The consent at Fiskil is ended\./)
  const adopted = rows.find(({ provider }) => provider === 'enablebanking')
  const other = await jar.get(`/connections/${adopted?.id}/remove`)
  assert.match(other.text, /at Enable Banking was given elsewhere and stays there\..*"atProvider"/s)
  const kept = await jar.post(remove, { ...question.hidden, decision: 'cancel' })
  assert.equal(kept.location, `/connections/${row.id}?done=kept`)
  const gone = await jar.post(remove, { ...question.hidden, decision: 'confirm' })
  assert.equal(gone.location, '/connections?done=removed')
  assert.equal(await world.service.app.store.connections.find(row.id), null)
  assert.equal((await jar.get(`/connections/${row.id}`)).status, 303)
})

test('a form without its token, or from elsewhere, changes nothing', async () => {
  const person = await world.addPerson()
  const row = await plant(person)
  const jar = await world.enter(person)
  for (const verb of ['refresh', 'reconnect', 'remove']) {
    const answer = await jar.post(`/connections/${row.id}/${verb}`, { decision: 'confirm' })
    assert.equal(answer.status, 403)
  }
  assert.equal((await world.service.app.store.connections.find(row.id))?.status, 'active')
})

test('fifty connections with a year of trouble stay under 120 KB with the style sheets, on the overview and in the list', async () => {
  const person = await world.addPerson()
  for (let index = 0; index < 50; index += 1) {
    const row = await plant(person, {
      status: index % 2 === 0 ? 'invalidated' : 'active',
      institutionName: `An institution with a rather long name, number ${index}`,
      consentExpiresAt: world.service.clock.now(),
      accounts: [{}, {}, {}],
    })
    await addRun(row, 'unreadable')
  }
  const jar = await world.enter(person)
  for (const path of ['/', '/connections']) {
    const { text } = await jar.get(path)
    const assets = text.match(/(?<=")\/assets\/[^"]+/g) ?? []
    let weight = Buffer.byteLength(text)
    for (const asset of new Set(assets)) {
      const { headers } = await jar.get(asset, { 'accept-encoding': 'gzip' })
      weight += Number(headers['content-length'])
    }
    assert.ok(weight < 120_000, `${path}: ${weight} bytes`)
    assert.equal(text.match(/number \d+</g)?.length, 50)
  }
})

test('F24: what leads to another page is a link, also where it looks like a button', async () => {
  const person = await world.addPerson()
  const row = await plant(person)
  const jar = await world.enter(person)
  for (const path of ['/', '/connections', `/connections/${row.id}`, '/keys', '/webhooks']) {
    assert.doesNotMatch(
      (await jar.get(path)).text,
      /<form method="get" action="[^"?]*"><button/,
      path,
    )
  }
})

test('F26: a connection whose consent has ended promises no next sync', async () => {
  const person = await world.addPerson()
  const row = await plant(person, { status: 'invalidated' })
  const jar = await world.enter(person)
  const { text } = await jar.get(`/connections/${row.id}`)
  assert.doesNotMatch(text, /Next sync/)
  const list = await jar.get('/connections')
  assert.match(list.text, /data-label="Next sync">—\s*<\/td>/)
  assert.doesNotMatch(list.text, /consent ends/)
})
