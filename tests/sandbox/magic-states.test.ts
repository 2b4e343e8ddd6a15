/** Magic users who show the state of a consent, a login or a provider: each as the REST API shows it. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { type MagicName, magicUsers, sandboxProviders } from '#sandbox/magic-users.ts'
import { codeOf, startService } from '#tests/support/service.ts'
import { linkMagic, providersWith } from './linked.ts'

const service = await startService()
after(() => service.close())

const gone = 'Upstream rejected request: consent withdrawn, reconnect'

test('the table of magic users names exactly the people of each emulator', () => {
  for (const provider of sandboxProviders) {
    const named = magicUsers.filter(({ at }) => at[provider] !== null).map(({ name }) => name)
    assert.deepEqual(Object.keys(service.sandbox[provider].people).sort(), [...named].sort())
  }
})

test('every person can be linked as the table says, and has accounts unless the consent is lost', async () => {
  const mute = ['expired fiskil', 'revoked fiskil']
  for (const { name } of magicUsers) {
    for (const { provider } of service.sandbox.person(name)) {
      // A token that is refused cannot be linked, which is what this person shows.
      if (
        ['expired up', 'expired simplefin', 'expired enablebanking'].includes(`${name} ${provider}`)
      )
        continue
      const { accounts } = await linkMagic(service, name, provider)
      assert.equal(accounts.length === 0, mute.includes(`${name} ${provider}`), name)
    }
  }
})

test('healthy: active, with rows, everywhere', async () => {
  for (const provider of sandboxProviders) {
    const linked = await linkMagic(service, 'healthy', provider)
    assert.equal(await linked.status(), 'active')
    const { status, body } = await linked.rows()
    assert.equal(status, 200)
    assert.ok(body.data.length > 5, provider)
  }
})

test('several users may link the same person, by personal keys too', async () => {
  for (const provider of sandboxProviders) {
    for (let user = 0; user < 2; user += 1) {
      const linked = await linkMagic(service, 'healthy', provider)
      assert.equal(await linked.status(), 'active', provider)
    }
  }
})

test('history: more than 5,000 rows, so that one request is cut short and says so', async () => {
  for (const provider of sandboxProviders) {
    const linked = await linkMagic(service, 'history', provider)
    const from = '&from=2024-11-01'
    const scope = `${from}&accountId=${linked.accounts[0]?.id}`
    const first = await linked.rows(`${scope}&limit=500`)
    assert.equal(first.body.pagination.hasMore, true, provider)
    const deep = await linked.rows(`${scope}&limit=500&offset=5200`)
    assert.equal(deep.status, 200)
    assert.equal(deep.body.data.length, 200, provider)
    assert.equal(deep.body.pagination.total, 5_400)
  }
})

test('expired: links as invalidated; old rows where the provider still serves them, else 400', async () => {
  const fiskil = await linkMagic(service, 'expired', 'fiskil')
  assert.equal(await fiskil.status(), 'invalidated')
  const refused = await fiskil.rows()
  assert.deepEqual([refused.status, codeOf(refused)], [400, 'upstream_bad_request'])
  assert.equal(refused.body.error.message, gone)
  const akahu = await linkMagic(service, 'expired', 'akahu')
  assert.equal(await akahu.status(), 'invalidated')
  const old = await akahu.rows()
  assert.equal(old.status, 200)
  assert.ok(old.body.data.length > 0)
  assert.ok(old.body.data.every((row: { date: string }) => row.date <= '2026-11-09'))
  const [balance] = (await akahu.balances()).body.data
  assert.deepEqual([balance.currentBalance, balance.currency], [null, null])
  const broker = await linkMagic(service, 'expired', 'snaptrade')
  assert.equal(await broker.status(), 'invalidated')
  assert.ok((await broker.rows()).body.data.length > 0)
  assert.ok((await broker.holdings()).body.data.length > 0)
})

test('expired: a refused token of Up cannot be linked, and the answer says what to do', async () => {
  await assert.rejects(linkMagic(service, 'expired', 'up'), /make a new one in the Up app/)
})

test('revoked: a token of Up that was revoked after linking is `invalidated`, with words', async () => {
  const linked = await linkMagic(service, 'revoked', 'up')
  service.sandbox.up.faultControls.consent.revoke('revoked')
  const refused = await linked.rows()
  assert.deepEqual([refused.status, codeOf(refused)], [400, 'upstream_bad_request'])
  assert.match(refused.body.error.message, /expired, was revoked, or a newer one has replaced it/)
  assert.equal(await linked.status(), 'invalidated')
  service.sandbox.up.faultControls.consent.renew('revoked')
})

test('revoked: at Fiskil the link shows it at once, and the provider is not asked', async () => {
  const linked = await linkMagic(service, 'revoked', 'fiskil')
  assert.equal(await linked.status(), 'revoked')
  service.sandbox.fiskil.requests.length = 0
  const { status, body } = await linked.rows()
  assert.deepEqual([status, body.error.message], [400, gone])
  assert.equal(service.sandbox.fiskil.requests.length, 0)
})

test('slow: the rows come, but not before a second and a half', async () => {
  for (const provider of providersWith('slow')) {
    const linked = await linkMagic(service, 'slow', provider)
    const started = performance.now()
    const { status, body } = await linked.rows()
    assert.ok(performance.now() - started >= 1_450, provider)
    assert.equal(status, 200)
    assert.ok(body.data.length > 0)
  }
})

test('throttled: 503 with the provider’s own wait', async () => {
  for (const provider of providersWith('throttled')) {
    const linked = await linkMagic(service, 'throttled', provider)
    const answer = await linked.rows()
    // Up tells no wait: its hour ends with the clock's, and it is two o'clock sharp. Banks tell none either.
    const waits: Partial<Record<string, string>> = { up: '3600', enablebanking: '21600' }
    const wait = waits[provider] ?? '17'
    assert.deepEqual([answer.status, answer.headers['retry-after']], [503, wait], provider)
    assert.equal(codeOf(answer), undefined)
  }
  const broker = await linkMagic(service, 'throttled', 'snaptrade')
  assert.equal((await broker.holdings()).headers['retry-after'], '17')
})

test('outage: 503, and transactions of the connection fail fast after three of them', async () => {
  for (const provider of providersWith('outage')) {
    const linked = await linkMagic(service, 'outage', provider)
    for (let round = 0; round < 3; round += 1) {
      const answer = await linked.rows()
      assert.deepEqual([answer.status, answer.headers['retry-after']], [503, '30'], provider)
    }
    const isBank = provider !== 'snaptrade'
    assert.equal(codeOf(await linked.rows()), isBank ? 'upstream_breaker_open' : undefined)
    if (isBank) assert.notEqual((await linked.balances()).body.data[0].availableBalance, null)
  }
})

test('malformed: a row that cannot be read fails the request', async () => {
  for (const provider of providersWith('malformed')) {
    const linked = await linkMagic(service, 'malformed', provider)
    assert.equal((await linked.rows()).status, 503, provider)
  }
  const broker = await linkMagic(service, 'malformed', 'snaptrade')
  assert.equal((await broker.holdings()).status, 503)
})

test('pending: what is pending is left out, and appears once it posts', async () => {
  const start = service.clock.now()
  try {
    for (const provider of ['fiskil', 'akahu', 'up'] as const) {
      service.clock.set(start)
      const before = await linkMagic(service, 'pending', provider)
      const known = ids(await before.rows())
      service.clock.advance(4 * 3_600_000)
      // A user without cached answers asks again.
      const fresh = ids(await (await linkMagic(service, 'pending', provider)).rows())
      const posted = fresh.filter((id) => !known.includes(id))
      assert.equal(posted.length, 2, provider)
      assert.ok(known.length > 200 - 3)
    }
  } finally {
    service.clock.set(start)
  }
})

function ids({ body }: { readonly body: { readonly data: readonly { readonly id: string }[] } }) {
  return body.data.map(({ id }) => id)
}

test('the names of the table are the ones that people type', () => {
  const names: readonly MagicName[] = magicUsers.map(({ name }) => name)
  assert.equal(new Set(names).size, names.length)
  assert.ok(names.every((name) => /^[a-z]+$/.test(name)))
})

test('joint: one account under two logins of one user, each with its rows', async () => {
  const user = await service.createUser()
  await service.link(user, 'healthy', 'up')
  await service.link(user, 'joint', 'up')
  const shared = (await service.accounts(user)).filter(({ name }) => name === '2Up Spending')
  assert.equal(shared.length, 2)
  const [one, other] = await Promise.all(
    shared.map(({ connectionId, id }) =>
      service.get(`/v1/transactions?connectionId=${connectionId}&accountId=${id}`, user),
    ),
  )
  assert.ok(one !== undefined && other !== undefined && ids(one).length > 5)
  assert.deepEqual(ids(one), ids(other))
})
