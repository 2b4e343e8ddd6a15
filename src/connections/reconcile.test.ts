/** Matching of connections after a discovery: by id, by moved accounts, by institution and number. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Provider } from '#contract/resources.ts'
import { newId, upstreamId } from '#kernel/ids.ts'
import type { DiscoveredAccount, DiscoveredConnection } from '#providers/port.ts'
import type { AccountRow } from '#store/ports/accounts.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'
import { type HeldConnection, reconcile } from './reconcile.ts'

interface Accounts {
  readonly [id: string]: string | null
}

function held(
  id: string,
  institutionId: string,
  accounts: Accounts = {},
  provider: Provider = 'akahu',
): HeldConnection {
  const row: ConnectionRow = {
    id: newId(),
    userId: newId(),
    loginId: newId(),
    provider,
    upstreamId: upstreamId(id),
    institutionId,
    institutionName: institutionId,
    institutionLogo: null,
    status: 'active',
    lastRefreshedAt: null,
    createdAt: 0,
    endsAtProvider: false,
  }
  const toRow = ([account, accountNumber]: [string, string | null]): AccountRow => ({
    id: newId(),
    connectionId: row.id,
    userId: row.userId,
    provider,
    institutionName: institutionId,
    upstreamId: upstreamId(account),
    name: account,
    type: 'transaction',
    accountNumber,
    currency: 'NZD',
  })
  return { row, accounts: Object.entries(accounts).map(toRow) }
}

function found(
  id: string,
  institutionId: string,
  accounts: Accounts | null = {},
  previous: Record<string, string> = {},
): DiscoveredConnection {
  const toAccount = ([account, accountNumber]: [string, string | null]): DiscoveredAccount => ({
    upstreamId: upstreamId(account),
    previousUpstreamId:
      previous[account] === undefined ? null : upstreamId(previous[account] ?? ''),
    name: account,
    type: 'transaction',
    accountNumber,
    currency: 'NZD',
  })
  return {
    upstreamId: upstreamId(id),
    institutionId,
    institutionName: institutionId,
    institutionLogo: null,
    status: 'active',
    lastRefreshedAt: null,
    accounts: accounts === null ? null : Object.entries(accounts).map(toAccount),
  }
}

/** `ours→theirs` of the known ones, then the new ones, then the missing ones. */
function tell(ours: readonly HeldConnection[], theirs: readonly DiscoveredConnection[]) {
  const { known, unknown, absent } = reconcile(ours, theirs)
  return [
    known.map((pair) => `${pair.row.upstreamId}→${pair.found.upstreamId}`),
    unknown.map((one) => one.upstreamId),
    absent.map((one) => one.upstreamId),
  ]
}

test('the same id is the same connection, even when everything else changed', () => {
  assert.deepEqual(tell([held('a', 'bank')], [found('a', 'other bank')]), [['a→a'], [], []])
})

test('what is only ours is absent, what is only theirs is unknown', () => {
  assert.deepEqual(tell([held('a', 'bank')], [found('b', 'other')]), [[], ['b'], ['a']])
  assert.deepEqual(tell([], []), [[], [], []])
})

test('a connection follows its accounts to a new id, by their present or their former ids', () => {
  const ours = [held('a', 'bank', { account: null })]
  assert.deepEqual(tell(ours, [found('b', 'elsewhere', { account: null })]), [['a→b'], [], []])
  const moved = found('b', 'elsewhere', { moved: null }, { moved: 'account' })
  assert.deepEqual(tell(ours, [moved]), [['a→b'], [], []])
})

test('at the same institution an account with the same number is enough, the institution alone is not', () => {
  const ours = [held('a', 'bank', { account: 'xxxx1234' })]
  assert.deepEqual(tell(ours, [found('b', 'bank', { x: 'xxxx1234' })]), [['a→b'], [], []])
  assert.deepEqual(tell(ours, [found('b', 'bank', { x: 'xxxx9999' })]), [[], ['b'], ['a']])
  assert.deepEqual(tell(ours, [found('b', 'other', { x: 'xxxx1234' })]), [[], ['b'], ['a']])
  const numberless = [held('a', 'bank', { account: null })]
  assert.deepEqual(tell(numberless, [found('b', 'bank', { x: null })]), [[], ['b'], ['a']])
})

test('a Fiskil consent is renewed by another at the same institution, before its accounts arrive', () => {
  const ours = [held('a', '22', { account: 'xxxx1234' }, 'fiskil'), held('c', '41', {}, 'fiskil')]
  assert.deepEqual(tell(ours, [found('b', '22', null)]), [['a→b'], [], ['c']])
})

test('a consent that still exists under its id is never taken for the renewal of another', () => {
  const ours = [held('a', '22', {}, 'fiskil')]
  assert.deepEqual(tell(ours, [found('b', '22'), found('a', '22')]), [['a→a'], ['b'], []])
})

test('every connection of either side occurs exactly once in the result', () => {
  const ids = fc.uniqueArray(fc.constantFrom(...'abcdefgh'), { maxLength: 8 })
  const bank = fc.constantFrom('22', '41')
  fc.assert(
    fc.property(ids, ids, bank, (ourIds, theirIds, institution) => {
      const ours = ourIds.map((id) => held(id, institution, { [id]: 'xxxx1234' }))
      const theirs = theirIds.map((id) => found(id, '22', { [`${id}2`]: 'xxxx1234' }))
      const { known, unknown, absent } = reconcile(ours, theirs)
      const rows = [...known.map((pair) => pair.row), ...absent].map((row) => row.upstreamId)
      const seen = [...known.map((pair) => pair.found), ...unknown].map((one) => one.upstreamId)
      assert.deepEqual([...rows].sort(), [...ourIds].sort())
      assert.deepEqual([...seen].sort(), [...theirIds].sort())
    }),
  )
})
