/**
 * Money in another currency than its account's, and positions of unknown size: REST names the currency, and
 * sums, pages, files and the SimpleFIN door neither mix nor guess.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { byOperator } from '#contract/actor.ts'
import { type KeyId, newId } from '#kernel/ids.ts'
import { options, securities } from '#sandbox/snaptrade/securities.ts'
import type { AccountRow } from '#store/ports/accounts.ts'
import { bind, openAccess } from '#tests/request/simplefin/world.ts'
import { callTool } from '#tests/support/agent.ts'
import { linkBroker, position } from '#tests/support/broker.ts'
import { fiskilRow, plantFiskil } from '../list-transactions/planted.ts'
import { startPages } from './world.ts'

const world = await startPages({ env: { MCP_EXTRA_TOOLS: 'true' } })
after(() => world.close())

async function settle() {
  const person = await world.addPerson()
  const { key } = await world.service.app.actions.createKey(byOperator, person.id, {})
  const user = { id: person.id, key, keyId: newId<KeyId>() }
  const jar = await world.enter(person)
  const program = bind(world.service, user)
  return {
    user,
    jar,
    file: async (account: AccountRow, format: string) =>
      jar.get(`/money/${account.id}/download?format=${format}`),
    /** What a program sees of the account. */
    async program(account: AccountRow) {
      const { accounts, errlist } = await program.accounts(
        await openAccess(program),
        `?account=${account.id}`,
      )
      return { shown: accounts[0], said: errlist.map(({ msg }: { msg: string }) => msg) }
    },
  }
}

/** Texts of all amounts on a page. */
const amountsOf = (text: string) =>
  [...text.matchAll(/<data class="amount" value="[^"]*">([^<]*)</g)].map(([, shown]) => shown)

test('a bank row in another currency says so, and is never summed or shown as the account’s', async () => {
  const { service } = world
  const { user, jar, file, program } = await settle()
  const [first] = service.sandbox.fiskil.people.healthy.consents.flatMap(({ accounts }) => accounts)
  assert(first !== undefined)
  const upstreamId = first.body.account_id
  plantFiskil(service, String(first.body.display_name), [
    fiskilRow('a', '2026-11-20T03:00:00Z', { amount: '-100.00', currency: 'USD' }),
    fiskilRow('b', '2026-11-19T03:00:00Z', { amount: '-10.00' }),
    fiskilRow('c', '2026-11-18T03:00:00Z', { amount: '-7000', currency: 'JPY' }),
    fiskilRow('d', '2026-11-17T03:00:00Z', { amount: '-1.00', currency: null }),
    fiskilRow('e', '2026-11-16T03:00:00Z', { amount: '-2.00', currency: 'points' }),
  ])
  await service.link(user, 'healthy', 'fiskil')
  const all = await service.accounts(user)
  const account = all.find((one) => one.upstreamId === upstreamId) ?? assert.fail()
  const query = `connectionId=${account.connectionId}&accountId=${account.id}`
  const plain = await service.get(`/v1/transactions?${query}`, user)
  assert(plain.body.data.every((row: object) => !('currency' in row)))
  const { body } = await service.get(`/v1/transactions?${query}&include=currency`, user)
  assert.equal((await service.get(`/v1/transactions?${query}&include=all`, user)).status, 400)
  const told = body.data.map((row: Record<string, string>) => [row.id, row.currency])
  assert.deepEqual(told, [
    ['a', 'USD'],
    ['b', undefined],
    ['c', 'JPY'],
    ['d', undefined],
    ['e', 'XXX'],
  ])

  const summed = await callTool(service, user, 'summarize_transactions', {
    ...{ from: '2026-11-01', to: '2026-11-21', groupBy: 'month', accountId: account.id },
  })
  const sums = summed.result.structuredContent.data.map((one: Record<string, unknown>) => [
    one.currency,
    one.moneyOut,
    one.count,
  ])
  assert.deepEqual(sums.toSorted(), [
    ['AUD', '11.00', 2],
    ['JPY', '7000', 1],
    ['USD', '100.00', 1],
    ['XXX', '2.00', 1],
  ])

  const page = await jar.get(`/money/${account.id}?show=1`)
  const shown = amountsOf(page.text)
  for (const amount of ['−100.00 USD', '11.00 AUD', '7,000 JPY', '−7,000 JPY']) {
    assert(shown.includes(amount), `${amount} of ${shown.join()}`)
  }
  assert(!shown.some((amount) => /7,\d{3}\S* AUD/.test(amount ?? '')), shown.join())
  assert.match(page.text, /is not computed, because some rows are in other currencies/)

  const csv = await file(account, 'csv')
  const cells = csv.text.split('\r\n').map((line) => line.split(',').slice(2, 4).join(' '))
  assert.deepEqual(cells.slice(1, 6), [
    '-100.00 USD',
    '-10.00 AUD',
    '-7000 JPY',
    '-1.00 AUD',
    '-2.00 XXX',
  ])
  const ofx = await file(account, 'ofx')
  assert.equal(ofx.headers['content-disposition'], undefined)
  assert.match(ofx.text, /A transaction is in USD, and an OFX file has one currency, here AUD/)

  const { shown: door, said } = await program(account)
  assert.deepEqual(
    door.transactions.map(({ id }: { id: string }) => id),
    ['b', 'd'],
  )
  for (const currency of ['JPY', 'USD', 'XXX']) {
    const words = `its transactions in ${currency} are left out, because it is in AUD`
    assert(
      said.some((text: string) => text.endsWith(words)),
      said.join(),
    )
  }
})

test('an account whose currency was not known when it was linked is shown in that of its balance', async () => {
  const { service } = world
  const { user, file, program } = await settle()
  await service.link(user, 'foreign', 'enablebanking')
  for (const account of await service.accounts(user)) {
    const { body } = await service.get(`/v1/balances?accountIds=${account.id}`, user)
    const { currency, currentBalance } = body.data[0]
    const { shown, said } = await program(account)
    assert.deepEqual([shown.currency, shown.balance], [currency, currentBalance], said.join())
    assert.deepEqual(
      said.filter((text: string) => text.includes('left out')),
      [],
    )
    const { text } = await file(account, 'ofx')
    assert.match(text, new RegExp(`<CURDEF>${currency}\\b`))
  }
})

test('where the balance has another currency than the one stored, rows in the stored one are not taken for its', async () => {
  const { service } = world
  const { user, file, program } = await settle()
  // What another test has read of the same bank counts no more.
  service.clock.advance(24 * 3_600_000)
  const banks = service.sandbox.enablebanking.people.foreign?.accounts ?? []
  const bank = banks.find(({ currency }) => currency === 'XXX') ?? assert.fail()
  const bookedAt = service.clock.now() - 2 * 86_400_000
  bank.rows.length = 0
  bank.rows.push({ id: 'sek', bookedAt, amount: '-44.44', description: 'CROWNS' })
  bank.rows.push({ id: 'eur', bookedAt, amount: '-33.33', currency: 'EUR', description: 'HOTEL' })
  await service.link(user, 'foreign', 'enablebanking')
  for (const account of await service.accounts(user)) {
    const { body } = await service.get(`/v1/balances?accountIds=${account.id}`, user)
    if (account.currency !== 'EUR' || body.data[0].currency !== 'SEK') continue
    const { shown, said } = await program(account)
    const texts = shown.transactions.map(({ description }: { description: string }) => description)
    assert.deepEqual(texts, ['CROWNS'])
    assert.match(said.join(), /its transactions in EUR are left out, because it is in SEK/)
    const ofx = await file(account, 'ofx')
    assert.match(ofx.text, /A transaction is in EUR, and an OFX file has one currency, here SEK/)
    return
  }
  assert.fail('no account of unknown currency')
})

test('earlier balances are not computed from rows and a balance that were read at other times', async () => {
  const { service } = world
  const { user, jar, file } = await settle()
  const [bank] = service.sandbox.enablebanking.people.healthy?.accounts ?? []
  assert(bank !== undefined)
  const row = (id: string, at: string, amount: string) =>
    bank.rows.push({ id, bookedAt: Date.parse(at), amount, description: id })
  bank.rows.length = 0
  row('rent', '2026-11-18T12:00:00Z', '-100.00')
  row('pay', '2026-11-10T12:00:00Z', '5.00')
  await service.link(user, 'healthy', 'enablebanking')
  const [account] = await service.accounts(user)
  assert(account !== undefined)
  await service.get(`/v1/balances?accountIds=${account.id}`, user)
  const readAt = service.clock.now()
  service.clock.advance(3 * 3_600_000)
  row('groceries', new Date(service.clock.now() - 3_600_000).toISOString(), '-50.00')
  const view = async () => (await jar.get(`/money/${account.id}?show=1`)).text
  const apart = await view()
  assert.match(apart, /the balance and the rows were not read at the same time/)
  assert.doesNotMatch(apart, /Computed balance by day/)
  const ofx = await file(account, 'ofx')
  const stamp = new Date(readAt).toISOString().replace(/\D/g, '').slice(0, 14)
  assert.match(ofx.text, new RegExp(`<DTASOF>${stamp}\\[`))

  service.clock.advance(24 * 3_600_000)
  assert.match(await view(), /Computed balance by day/)
})

test('earlier balances of a bank that is read live are not computed from rows of some minutes ago', async () => {
  const { service } = world
  const { user, jar } = await settle()
  const [, own] = service.sandbox.fiskil.people.healthy.consents.flatMap(({ accounts }) => accounts)
  assert(own !== undefined)
  const yesterday = service.clock.now() - 86_400_000
  plantFiskil(service, String(own.body.display_name), [
    fiskilRow('lunch', new Date(yesterday).toISOString()),
    fiskilRow('rent', new Date(yesterday - 86_400_000).toISOString()),
  ])
  await service.link(user, 'healthy', 'fiskil')
  const { account_id: upstreamId } = own.body
  const account = (await service.accounts(user)).find((one) => one.upstreamId === upstreamId)
  const view = async () => (await jar.get(`/money/${account?.id}?show=1`)).text
  assert.match(await view(), /Computed balance by day/)
  service.clock.advance(7 * 60_000)
  assert.match(await view(), /the balance and the rows were not read at the same time/)
  service.clock.advance(31 * 60_000)
  assert.match(await view(), /Computed balance by day/)
})

test('a CSV file asks for no balance; calls of a day that are used up are told with the hours to wait', async () => {
  const { service } = world
  const { user, jar, file } = await settle()
  // What another test has read of the same bank counts no more.
  service.clock.advance(24 * 3_600_000)
  await service.link(user, 'healthy', 'enablebanking')
  const [account] = await service.accounts(user)
  assert(account !== undefined)
  const callsOf = (name: string) =>
    service.sandbox.enablebanking.requests.filter(({ path }) => path.endsWith(name)).length
  const before = callsOf('/balances')
  for (let count = 0; count < 2; count += 1) {
    assert.match((await file(account, 'csv')).text, /^\uFEFF?date,datetime/)
    service.clock.advance(6 * 3_600_000 + 60_000)
  }
  assert.equal(callsOf('/balances'), before)
  await service.get(`/v1/balances?accountIds=${account.id}`, user)
  const { text } = await jar.get(`/money/${account.id}?show=1`)
  assert.match(text, /cannot be read now\. Try again in \d+ hours\./)
})

test('points of two schemes have no currency, and are never added up', async () => {
  const { service } = world
  const { user, jar } = await settle()
  const { connections = [] } = service.sandbox.simplefin.people.healthy ?? {}
  const [miles, points] = connections.flatMap(({ accounts }) => accounts)
  assert(miles !== undefined && points !== undefined)
  miles.currency = 'https://airline.example/miles'
  points.currency = 'https://shop.example/points'
  await service.link(user, 'healthy', 'simplefin')
  const { text } = await jar.get('/money?show=1')
  const [, totals = ''] = text.split('<h2>By currency</h2>')
  const [table = ''] = totals.split('</table>')
  assert.equal(table.split('no currency').length - 1, 2, table)
  const { result } = await callTool(service, user, 'summarize_transactions', {
    ...{ from: '2026-10-01', to: '2026-11-21', groupBy: 'month' },
  })
  const groups = result.structuredContent.data.filter(
    (one: { key: string; currency: string }) => one.currency === 'XXX' && one.key === '2026-11',
  )
  assert.equal(groups.length, 2)
})

test('a position of unknown size has no value: pages say so, and a program is not shown the account', async () => {
  const { service } = world
  const { user, jar, program } = await settle()
  const call = securities.aapl
  const { accounts } = await linkBroker(service, user, [
    {
      positions: [
        position({ units: '10', price: '150.25' }),
        position({
          instrument: { kind: 'cfd', id: newId(), underlying: call },
          units: '-5',
          price: '150.25',
        }),
      ],
    },
  ])
  const [account] = accounts
  assert(account !== undefined)
  for (const path of ['/money', `/money/${account.id}`]) {
    const { text } = await jar.get(`${path}?show=1`)
    assert.match(text, /and 1 without a known value/, path)
    assert(!amountsOf(text).includes('−751.25 USD'), path)
  }
  const { shown, said } = await program(account)
  assert.equal(shown, undefined)
  assert.match(said.join(), /the value of a position is not known/)
})

test('the cost of a contract of many units is that of all its units', async () => {
  const { service } = world
  const { user, program } = await settle()
  const { accounts } = await linkBroker(service, user, [
    {
      positions: [
        position({
          instrument: { kind: 'option', contract: options.aaplCall, multiplier: '100' },
          ...{ units: '2', price: '21.35', costBasis: '18.6' },
        }),
      ],
    },
  ])
  const { shown } = await program(accounts[0] ?? assert.fail())
  const [{ market_value: value, total_cost: cost }] = shown.holdings
  assert.deepEqual([value, cost], ['4270.00', '3720.00'])
})
