/** The list of all accounts: a long one leaves others their turns. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type AccountId,
  type ConnectionId,
  type LoginId,
  newId,
  type UserId,
  upstreamId,
} from '#kernel/ids.ts'
import { type MoneyInstitution, renderMoney } from './list-page.ts'

const userId = newId<UserId>()

function newInstitution(name: string, accounts: number): MoneyInstitution {
  const id = newId<ConnectionId>()
  const shared = { userId, provider: 'simplefin', institutionName: name } as const
  return {
    row: {
      ...shared,
      id,
      loginId: newId<LoginId>(),
      upstreamId: upstreamId(name),
      institutionId: name,
      institutionLogo: null,
      status: 'active',
      statusAt: 1,
      lastRefreshedAt: null,
      createdAt: 1,
      endsAtProvider: false,
      consentExpiresAt: null,
      label: null,
    },
    accounts: Array.from({ length: accounts }, (_, at) => ({
      ...shared,
      id: newId<AccountId>(),
      connectionId: id,
      upstreamId: upstreamId(`${at}`),
      name: `${name} ${at}`,
      type: 'savings',
      accountNumber: null,
      currency: 'USD',
    })),
  }
}

test('others have their turns while thousands of accounts are rendered, and none is left out', async () => {
  const institutions = Array.from({ length: 300 }, (_, at) => newInstitution(`Bank ${at}`, 10))
  let turns = 0
  let isOver = false
  const count = () => {
    turns += 1
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  const options = { institutions, reading: null, isHidden: false, base: 'http://127.0.0.1' }
  const text = `${await renderMoney(options)}`
  isOver = true
  assert.ok(turns >= 10, `${turns} turns`)
  assert.equal(text.split('href="/money/').length - 1, 3000)
})
