/** Every sandbox command against a running service, and what the REST API shows afterwards. */
import assert from 'node:assert/strict'
import { after, afterEach, test } from 'node:test'
import { byOperator } from '#contract/actor.ts'
import { toPersonalTokens } from '#sandbox/akahu/emulator.ts'
import { credentialsOf, magicUsers, sandboxProviders } from '#sandbox/magic-users.ts'
import { codeOf, startService } from '#tests/support/service.ts'
import { commandsOf } from './command.ts'
import { linkMagic, providersWith } from './linked.ts'

const service = await startService()
const sandbox = commandsOf(service)
after(() => service.close())
afterEach(async () => {
  await sandbox.json('reset')
})

test('people: all with the flags that link them, as a table and as JSON', async () => {
  const { data } = await sandbox.json('people')
  assert.equal(
    data.length,
    magicUsers.flatMap(({ name }) => credentialsOf(name, service.sandbox.access)).length,
  )
  for (const { name } of magicUsers) {
    for (const { provider, ...rest } of credentialsOf(name, service.sandbox.access)) {
      const row = data.find(
        (one: { person: string; provider: string }) =>
          one.person === name && one.provider === provider,
      )
      assert.deepEqual(row.link, { provider, ...rest })
      const values = Object.values(rest).map(String)
      assert.ok(
        values.every((value) => row.flags.includes(` ${value}`)),
        row.flags,
      )
    }
  }
  const { code, out } = await sandbox.run('people')
  assert.equal(code, 0)
  assert.match(out, /^healthy +akahu .*--user-token user_token_ckhealthy0+ /m)
  assert.match(out, /^mfa +fiskil .*tributary sandbox login challenge mfa$/m)
})

test('rows add: the row is in the very next answer, at a bank under the same id', async () => {
  for (const provider of ['fiskil', 'akahu'] as const) {
    const linked = await linkMagic(service, 'twins', provider)
    await linked.rows()
    const account = linked.accounts[0]?.name ?? ''
    const added = await sandbox.json(
      ...['rows', 'add', 'twins', '--provider', provider, '--account', account.toLowerCase()],
      ...['--amount', '-4.55', '--description', 'NEW COFFEE'],
    )
    assert.deepEqual(added, { person: 'twins', provider, id: added.id, account })
    const next = await linked.rows()
    assert.equal(next.headers['x-cache'], 'MISS')
    const [row] = next.body.data
    assert.deepEqual([row.id, row.amount, row.description], [added.id, '-4.55', 'NEW COFFEE'])
  }
})

test('rows add and rows change say that the next answer shows it, and speak of no waiting', async () => {
  const options = ['twins', '--provider', 'fiskil', '--amount', '-4.55'] as const
  for (const verb of ['add', 'change'] as const) {
    const { code, out } = await sandbox.run('rows', verb, ...options)
    assert.equal(code, 0)
    assert.match(out, /The next answer shows it/)
    assert.doesNotMatch(out, /uncached|minutes/)
  }
})

test('rows add: a row of the future is pending until then', async () => {
  const start = service.clock.now()
  const date = new Date(start + 3_600_000).toISOString()
  for (const provider of ['fiskil', 'akahu'] as const) {
    try {
      const words = ['rows', 'add', 'twins', '--provider', provider, '--amount', '7.00']
      const { id } = await sandbox.json(...words, '--date', date)
      const early = await (await linkMagic(service, 'twins', provider)).rows()
      assert.notEqual(early.body.data[0].id, id)
      service.clock.advance(3_700_000)
      const late = await (await linkMagic(service, 'twins', provider)).rows()
      assert.equal(late.body.data[0].id, id)
    } finally {
      service.clock.set(start)
    }
  }
})

test('rows add: a trade has its symbol, units and price, and lies in the past', async () => {
  const words = ['rows', 'add', 'twins', '--provider', 'snaptrade', '--amount', '-200.50']
  await sandbox.json(...words, '--symbol', 'bhp', '--units', '2', '--price', '100.25')
  const { body } = await (await linkMagic(service, 'twins', 'snaptrade')).rows('&limit=1')
  const { symbol, type, quantity, price, totalAmount, currency } = body.data[0]
  assert.deepEqual(
    [symbol, type, quantity, price, totalAmount, currency],
    ['BHP.AX', 'buy', '2', '100.25', '-200.50', 'AUD'],
  )
  const date = new Date(service.clock.now() + 1_000).toISOString()
  const details = await sandbox.refusal(...words, '--date', date)
  assert.deepEqual(details, ['a trade cannot lie in the future'])
})

test('rows change: the newest row of an account, or the one that is named', async () => {
  for (const provider of sandboxProviders) {
    const changed = await sandbox.json(
      ...['rows', 'change', 'twins', '--provider', provider, '--amount', '-9.99'],
    )
    const named = await sandbox.json(
      ...['rows', 'change', 'twins', '--row', changed.id, '--description', 'CORRECTED'],
    )
    assert.deepEqual(named, changed)
    const linked = await linkMagic(service, 'twins', provider)
    const { body } = await linked.rows('&limit=2')
    const row = body.data.find((one: { description: string }) => one.description === 'CORRECTED')
    assert.equal(row.amount ?? row.totalAmount, '-9.99', provider)
  }
})

test('login break and mend: invalidated at once and active again; Fiskil has no such login', async () => {
  for (const provider of ['akahu', 'snaptrade', 'simplefin'] as const) {
    const linked = await linkMagic(service, 'healthy', provider)
    const broken = await sandbox.json('login', 'break', 'healthy')
    assert.deepEqual(broken.providers, ['akahu', 'snaptrade', 'simplefin', 'enablebanking'])
    assert.equal(await linked.status(), 'invalidated')
    const reported = broken.connections.find(
      (one: { id: string }) => one.id === linked.connection.id,
    )
    assert.deepEqual([reported.status, reported.refreshed], ['invalidated', true])
    await sandbox.json('login', 'mend', 'healthy', '--provider', provider)
    assert.equal(await linked.status(), 'active')
  }
  const [detail] = await sandbox.refusal('login', 'break', 'healthy', '--provider', 'fiskil')
  assert.match(detail ?? '', /no login to break, only a consent/)
})

test('R20b: login challenge: an existing connection is pending_mfa and still served, until it is repaired', async () => {
  for (const provider of providersWith('mfa')) {
    const linked = await linkMagic(service, 'mfa', provider)
    assert.equal(await linked.status(), 'active')
    await sandbox.json('login', 'challenge', 'mfa')
    assert.equal(await linked.status(), 'pending_mfa')
    assert.equal((await linked.rows()).status, 200, provider)
    await sandbox.json('login', 'mend', 'mfa')
    assert.equal(await linked.status(), 'active')
  }
})

test('consent expire, revoke and renew: the status follows at once, at every provider', async () => {
  for (const provider of providersWith('revoked')) {
    const linked = await linkMagic(service, 'revoked', provider)
    const words = ['revoked', '--provider', provider]
    await sandbox.json('consent', 'renew', ...words)
    assert.equal(await linked.status(), 'active', provider)
    await sandbox.json('consent', 'expire', ...words)
    assert.equal(await linked.status(), 'invalidated', provider)
    await sandbox.json('consent', 'renew', ...words)
    assert.equal(await linked.status(), 'active', provider)
    await sandbox.json('consent', 'revoke', ...words)
    // Up does not tell a token that was revoked from one that has expired.
    const revoked = provider === 'up' ? 'invalidated' : 'revoked'
    assert.equal(await linked.status(), revoked, provider)
    const refused = await linked.rows()
    assert.deepEqual([refused.status, codeOf(refused)], [400, 'upstream_bad_request'], provider)
    await sandbox.json('consent', 'renew', ...words)
    assert.equal(await linked.status(), 'active', provider)
    assert.equal((await linked.rows()).status, 200, provider)
  }
})

test('permission and address: the person’s own app is refused with the reason until it is put right; other providers have no such apps', async () => {
  const user = await service.createUser()
  const credentials = { provider: 'akahu', ...toPersonalTokens('numbers') }
  const [connection] = await service.app.connections.linkConnections(
    byOperator,
    user.id,
    credentials,
  )
  const rows = () => service.get(`/v1/transactions?connectionId=${connection?.id}`, user)
  for (const [breakIt, mend, why] of [
    ['permission withdraw', 'permission grant', /lacks the permission/],
    ['address bar', 'address admit', /not on the allow-list/],
  ] as const) {
    assert.equal((await rows()).status, 200)
    const changed = await sandbox.json(...breakIt.split(' '), 'numbers')
    assert.deepEqual([changed.providers, changed.connections.length], [['akahu'], 1])
    const refused = await rows()
    assert.deepEqual([refused.status, codeOf(refused)], [400, 'upstream_bad_request'])
    assert.match(refused.body.error.message, why)
    const [mended] = (await sandbox.json(...mend.split(' '), 'numbers')).connections
    assert.deepEqual([mended.status, mended.refreshed], ['active', true])
  }
  const elsewhere = await sandbox.run('address', 'bar', 'numbers', '--provider', 'fiskil')
  assert.equal(elsewhere.code, 1)
  assert.match(elsewhere.err, /at fiskil people have no apps of their own/)
})

test('latency: every answer of that provider takes so much longer, until it is taken back', async () => {
  const linked = await linkMagic(service, 'healthy', 'akahu')
  assert.deepEqual(await sandbox.json('latency', 'akahu', '400'), { provider: 'akahu', ms: 400 })
  const started = performance.now()
  assert.equal((await linked.rows()).status, 200)
  assert.ok(performance.now() - started >= 390)
  await sandbox.json('latency', 'akahu', '0')
  assert.equal(service.sandbox.akahu.latencyMs, 0)
})

test('fail: so many calls of that provider are refused, with its own way of naming a wait', async () => {
  // These two are not asked again for hours (R36).
  for (const provider of sandboxProviders.filter(
    (name) => name !== 'simplefin' && name !== 'enablebanking',
  )) {
    const linked = await linkMagic(service, 'healthy', provider)
    const other = await linkMagic(service, 'history', provider)
    const reported = await sandbox.json(
      'fail',
      provider,
      '429',
      '--times',
      '1',
      '--retry-after',
      '9',
    )
    assert.deepEqual(reported, { provider, status: 429, times: 1, retryAfter: 9 })
    const refused = await linked.rows()
    assert.deepEqual([refused.status, refused.headers['retry-after']], [503, '9'], provider)
    assert.equal((await linked.rows()).status, 200, provider)
    await sandbox.json('fail', provider, '500')
    for (let round = 0; round < 2; round += 1) {
      assert.equal((await linked.rows(`&from=2026-11-0${round + 1}`)).status, 503, provider)
    }
    await sandbox.json('fail', provider, '418')
    const replaced = await other.rows()
    assert.equal(replaced.status, 400, 'a new failure replaces the former')
    await sandbox.json('reset')
  }
})

test('reset: rows, logins, consents, latency and failures are as at the start', async () => {
  const linked = await linkMagic(service, 'twins', 'akahu')
  const original = (await linked.rows()).body.data
  await sandbox.json('rows', 'add', 'twins', '--provider', 'akahu', '--amount', '1.00')
  await sandbox.json('consent', 'revoke', 'twins')
  await sandbox.json('fail', 'akahu', '500')
  await sandbox.json('latency', 'fiskil', '1000')
  const { connections } = await sandbox.json('reset')
  const reported = connections.find((one: { id: string }) => one.id === linked.connection.id)
  assert.deepEqual([reported.status, reported.refreshed], ['active', true])
  const again = await linked.rows()
  assert.equal(again.headers['x-cache'], 'MISS')
  assert.deepEqual(again.body.data, original)
  assert.equal(service.sandbox.fiskil.latencyMs, 0)
})
