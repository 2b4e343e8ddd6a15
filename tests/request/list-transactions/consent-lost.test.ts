/**
 * A consent that ends between two pages: providers answer 200 without rows, which is not the end (reading
 * R20b).
 */
import assert from 'node:assert/strict'
import { after, afterEach, test } from 'node:test'
import { codeOf, startService } from '#tests/support/service.ts'
import {
  akahuRow,
  type BankUser,
  fiskilRow,
  makeBankUser,
  namesOf,
  plantAkahu,
  plantFiskil,
} from './planted.ts'

const service = await startService()
afterEach(() => {
  for (const { consents } of Object.values(service.sandbox.fiskil.people)) {
    for (const consent of consents) consent.active = true
  }
  for (const emulator of [service.sandbox.fiskil, service.sandbox.akahu]) emulator.clearFaults()
  service.clock.advance(3_800_000)
})
after(() => service.close())

const newest = Date.parse('2026-11-20T00:00:00Z')
const rows = <Row>(count: number, make: (id: string, date: string) => Row): Row[] =>
  Array.from({ length: count }, (_, index) =>
    make(`${index}`, new Date(newest - index * 60_000).toISOString()),
  )
const isRead = ({ path }: { readonly path: string }) => path.endsWith('/transactions')

async function statusOf({ user, account }: BankUser) {
  const row = (await service.app.store.connections.list(user.id)).find(
    ({ id }) => id === account.connectionId,
  )
  return row?.status
}

/** Lets Fiskil end every consent before a later page, and answer it as the live service does. */
function endFiskil(how: 'all' | 'none'): void {
  service.sandbox.fiskil.addFault({
    when: (request) => isRead(request) && request.query.has('page[after]'),
    does: {
      kind: 'edit',
      edit() {
        for (const consent of service.sandbox.fiskil.people.healthy.consents) {
          if (how === 'all') consent.active = false
        }
        return { status: 200, body: { transactions: [], links: {} } }
      },
    },
  })
}

test('R20b: an announced page of Fiskil that is empty because the consent ended is 400, never the end', async () => {
  const bank = await makeBankUser(service, { provider: 'fiskil', name: 'Bonus Saver' })
  plantFiskil(service, 'Bonus Saver', rows(5000, fiskilRow))
  endFiskil('all')
  for (const limit of [10, 500]) {
    const answer = await bank.ask(`&limit=${limit}`)
    assert.deepEqual([answer.status, codeOf(answer)], [400, 'upstream_bad_request'])
    assert.match(answer.body.error.message, /consent withdrawn, reconnect$/)
    assert.notEqual(answer.headers['x-cache'], 'HIT')
  }
  assert.notEqual(await statusOf(bank), 'active', 'the loss is written down')
})

test('R20b: the consent that ends in the middle of a walk ends the walk with 400', async () => {
  const bank = await makeBankUser(service, { provider: 'fiskil', name: 'Bonus Saver' })
  plantFiskil(service, 'Bonus Saver', rows(5000, fiskilRow))
  const first = await bank.ask('&limit=500')
  assert.deepEqual([first.status, first.body.pagination.hasMore], [200, true])
  endFiskil('all')
  const later = await bank.ask('&limit=500&offset=2000')
  assert.deepEqual([later.status, codeOf(later)], [400, 'upstream_bad_request'])
})

test('R20b: an announced page of Fiskil that is empty while the consent lives is the end', async () => {
  const bank = await makeBankUser(service, { provider: 'fiskil', name: 'Bonus Saver' })
  plantFiskil(service, 'Bonus Saver', rows(1500, fiskilRow))
  endFiskil('none')
  const answer = await bank.ask('&limit=500')
  assert.deepEqual(
    [answer.status, answer.body.pagination.total, answer.body.pagination.hasMore],
    [200, 1000, true],
  )
})

test('R20b: rows of another bank on the last page do not hide that a consent ended', async () => {
  const bank = await makeBankUser(service, { provider: 'fiskil', name: 'Bonus Saver' })
  plantFiskil(service, 'Bonus Saver', rows(2000, fiskilRow))
  service.sandbox.fiskil.addFault({
    when: (request) => isRead(request) && request.query.has('page[after]'),
    does: {
      kind: 'edit',
      edit(reply) {
        for (const consent of service.sandbox.fiskil.people.healthy.consents) consent.active = false
        const body = JSON.parse(JSON.stringify(reply.body))
        for (const row of body.transactions) row.arrangement_id = 'another bank'
        return { ...reply, body }
      },
    },
  })
  const answer = await bank.ask('&limit=500')
  assert.deepEqual([answer.status, codeOf(answer)], [400, 'upstream_bad_request'])
})

/** Lets Akahu lose the login before a later page, which then says that it is the last one. */
function endAkahu(lose: () => void): void {
  service.sandbox.akahu.addFault({
    when: (request) => isRead(request) && request.query.has('cursor'),
    does: {
      kind: 'edit',
      edit() {
        lose()
        return { status: 200, body: { success: true, items: [], cursor: { next: null } } }
      },
    },
  })
}

test('R20b: an announced page of Akahu that is empty because the login is revoked is 400', async () => {
  const nz = await makeBankUser(service, { provider: 'akahu', name: 'Rainy Day' })
  plantAkahu(service, 'Rainy Day', rows(900, akahuRow))
  const person = service.sandbox.akahu.people.healthy
  const accounts = [...person.accounts]
  endAkahu(() => {
    person.accounts = accounts.filter(({ name }) => name !== 'Rainy Day').slice(0, 0)
  })
  try {
    for (const round of [1, 2]) {
      const answer = await nz.ask(`&limit=${round}`)
      assert.deepEqual([answer.status, codeOf(answer)], [400, 'upstream_bad_request'])
    }
    assert.notEqual(await statusOf(nz), 'active')
  } finally {
    person.accounts = accounts
  }
})

test('R20b: an empty last page of Akahu is the end while the login lives', async () => {
  const nz = await makeBankUser(service, { provider: 'akahu', name: 'Rainy Day' })
  plantAkahu(service, 'Rainy Day', rows(100, akahuRow))
  const whole = await nz.ask('&limit=500')
  assert.equal(whole.body.pagination.total, 100)
  service.clock.advance(3_800_000)
  plantAkahu(service, 'Rainy Day', rows(900, akahuRow))
  endAkahu(() => undefined)
  const answer = await nz.ask('&limit=500')
  assert.deepEqual([answer.status, namesOf(answer).length], [200, 100])
})
