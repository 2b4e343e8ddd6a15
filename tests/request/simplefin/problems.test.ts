/**
 * What cannot be read: said of its connection or account, in the words that clients act on; never a zero,
 * never all or nothing.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { byOperator } from '#contract/actor.ts'
import { makeAccount } from '#sandbox/snaptrade/index.ts'
import { type BrokerAccount, linkBroker, position } from '#tests/support/broker.ts'
import { bind, openAccess, openWorld } from './world.ts'

// biome-ignore lint/suspicious/noExplicitAny: clients read fields without types.
type Any = any

test('a consent that is gone is said in the exact words that clients look for, and the other bank is still there', async (t) => {
  const world = await openWorld(t, { person: 'expired', providers: ['fiskil'] })
  await world.service.link(world.user, 'healthy', 'akahu')
  const answer = await world.accounts(await openAccess(world))
  const broken = answer.errlist.find(({ code }: Any) => code === 'con.auth')
  const { name } = answer.connections.find(({ conn_id }: Any) => conn_id === broken.conn_id)
  assert(answer.errors.includes(`Connection to ${name} may need attention`))
  assert(answer.errors.some((text: string) => /authentication/.test(text)))
  assert(answer.accounts.length > 0, 'the healthy bank')
  assert(answer.accounts.every((one: Any) => one.conn_id !== broken.conn_id))
  for (const { balance } of answer.accounts) assert.notEqual(balance, null)
})

test('a provider that is away is unavailable, never a reason to reconnect, and its accounts are left out', async (t) => {
  const world = await openWorld(t, { providers: ['fiskil', 'akahu'] })
  const access = await openAccess(world)
  world.service.sandbox.fiskil.addFault({
    does: { kind: 'reply', reply: { status: 503, body: {} } },
  })
  const answer = await world.accounts(access)
  const codes = answer.errlist.map(({ code }: Any) => code)
  assert(
    codes.length > 0 && codes.every((code: string) => code === 'act.failed' || code === 'con.'),
    codes.join(),
  )
  assert(
    answer.errors.every((text: string) => !/attention|authentication/.test(text)),
    answer.errors.join(),
  )
  assert(answer.accounts.length > 0, 'the other bank is read')
})

test('an account whose bank tells no balance is left out with the reason and what to do instead, and the others are shown', async (t) => {
  const world = await openWorld(t, { providers: ['akahu'] })
  const access = await openAccess(world)
  let withheld = ''
  world.service.sandbox.akahu.addFault({
    when: ({ path }) => path.endsWith('/accounts'),
    does: {
      kind: 'edit',
      edit(reply) {
        const body = reply.body as { items: Any[] }
        const [first, ...others] = body.items
        const { balance: _, ...bare } = first
        withheld = first.name
        return { ...reply, body: { ...body, items: [bare, ...others] } }
      },
    },
  })
  const answer = await world.accounts(access)
  assert(answer.accounts.length > 0)
  assert.deepEqual(
    answer.errlist.map(({ code }: Any) => code),
    ['act.failed'],
  )
  const [text] = answer.errors
  assert(text.includes(withheld), text)
  assert.match(text, /no balance of it could be read/)
  assert.match(text, /where its institution never tells one, download its transactions/)
})

test('a Developer plan sees its banks, and brokerage accounts are absent without a word', async (t) => {
  const world = await openWorld(t, {
    plan: { plan: 'developer' },
    providers: ['fiskil', 'snaptrade'],
  })
  const answer = await world.accounts(await openAccess(world))
  assert.deepEqual([answer.errors, answer.errlist], [[], []])
  assert(answer.accounts.length > 0)
  assert(answer.accounts.every(({ holdings }: Any) => holdings.length === 0))
})

test('an account that is asked for and not there is named once, beside those that are', async (t) => {
  const world = await openWorld(t, { providers: ['fiskil'] })
  const access = await openAccess(world)
  const stranger = bind(world.service, await world.service.createUser())
  await world.service.link(stranger.user, 'healthy', 'akahu')
  const [theirs] = (await stranger.accounts(await openAccess(stranger))).accounts
  const listing = await world.accounts(access, '?balances-only=1')
  const [own] = listing.accounts
  const ids = [own.id, theirs.id, '00000000-0000-4000-8000-000000000000', 'none']
  const answer = await world.accounts(access, `?${ids.map((id) => `account=${id}`).join('&')}`)
  assert.deepEqual(
    answer.accounts.map(({ id, name }: Any) => [id, name]),
    [[own.id, own.name]],
  )
  assert.deepEqual(
    answer.errlist.map(({ code, account_id }: Any) => [code, account_id]),
    ids.slice(1).map((id) => ['act.failed', id]),
  )
  assert.equal(answer.errors.length, 1)
  assert.match(answer.errors[0], /choose it again/)
})

test('an account of a broker that is not ready or not shared is named, and keeps no other from being shown', async (t) => {
  const world = await openWorld(t, { providers: [] })
  const full = { positions: [position()] }
  const broker = await linkBroker(world.service, world.user, [
    ...[full, full],
    { name: 'Margin', holdingsSynced: false },
    { name: 'Shut', holdingsUnavailable: true },
  ])
  const access = await openAccess(world)
  const answer = await world.accounts(access, '?version=2')
  const sums = answer.accounts.map(({ name, balance }: Any) => [name, balance])
  assert.deepEqual(sums, [
    ['Account 0', '100.00'],
    ['Account 1', '100.00'],
  ])
  const [one, , margin, shut] = broker.accounts
  assert.deepEqual(
    answer.errlist.map(({ code, account_id }: Any) => [code, account_id]),
    [
      ['act.failed', margin?.id],
      ['act.missingdata', shut?.id],
    ],
  )
  const alone = await world.accounts(access, `?account=${one?.id}`)
  assert.deepEqual([alone.accounts.length, alone.errors], [1, []])
})

test('an account of a broker that left or got another id while it was read is named and never shown with nothing in it', async (t) => {
  const world = await openWorld(t, { providers: [] })
  const own = (name: string) => ({ name, positions: [position()] })
  const names = ['Stay', 'Move', 'Leave', 'Empty']
  const broker = await linkBroker(
    world.service,
    world.user,
    names.map((name) => (name === 'Empty' ? { name } : own(name))),
  )
  const access = await openAccess(world)
  const read = () => world.accounts(access, '?version=2')
  const sums = ({ accounts }: Any) =>
    Object.fromEntries(accounts.map(({ name, balance }: Any) => [name, balance]))
  const said = ({ errlist }: Any) =>
    errlist.map(({ code, account_id }: Any) => [code, account_id]).toSorted()
  const whole = { Empty: '0.00', Move: '100.00', Stay: '100.00' }
  assert.deepEqual(sums(await read()), { ...whole, Leave: '100.00' })

  const reissue = (id: string, fields: Partial<BrokerAccount> = {}) => {
    const { number, name, positions } = broker.upstream[1] ?? assert.fail()
    const nowMs = world.service.clock.now()
    return makeAccount(id, { seed: id, nowMs }, { number, name, positions, ...fields })
  }
  const known = broker.person.connections[0]?.accounts ?? assert.fail()
  known.splice(1, 2, reissue('moved'))
  world.service.clock.advance(3_600_000)
  const after = await read()
  assert.deepEqual(sums(after), { Empty: '0.00', Stay: '100.00' })
  const lost = [broker.accounts[1]?.id, broker.accounts[2]?.id].toSorted()
  assert.deepEqual(
    said(after),
    lost.map((id) => ['act.failed', id]),
  )
  assert.match(after.errors.join(), /Move is left out: it cannot be read at the moment/)
  world.service.clock.advance(1000)
  const next = await read()
  assert.deepEqual([sums(next), next.errlist], [whole, []])

  // Where another one is not ready, each is asked for alone.
  const second = (await world.service.accounts(world.user)).find(({ name }) => name === 'Move')
  known.splice(1, 1, reissue('again'))
  const [stay] = known
  assert(stay !== undefined)
  Object.assign(stay, { positions: [], holdingsSynced: false })
  world.service.clock.advance(3_600_000)
  const torn = await read()
  assert.deepEqual(sums(torn), { Empty: '0.00' })
  const failed = [broker.accounts[0]?.id, second?.id].toSorted()
  assert.deepEqual(
    said(torn),
    failed.map((id) => ['act.failed', id]),
  )
})

test('a program whose chosen connections were all removed is told so, and no other program is', async (t) => {
  const world = await openWorld(t, { providers: ['fiskil', 'akahu'] })
  const { app } = world.service
  const [first] = await app.store.connections.list(world.user.id)
  assert(first !== undefined)
  const narrow = await openAccess(world, { connections: [first.id] })
  const wide = await openAccess(world)
  assert.deepEqual((await world.accounts(narrow)).errors, [])
  await app.connections.removeConnection(byOperator, first.id)
  const answer = await world.accounts(narrow)
  assert.deepEqual(answer.accounts, [])
  const msg = 'None of the connections of this program is there any more: create a new setup token'
  assert.deepEqual([answer.errors, answer.errlist], [[msg], [{ code: 'gen.', msg }]])
  assert.deepEqual((await world.accounts(wide)).errors, [])
})
