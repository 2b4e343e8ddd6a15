/** Matching of connections after a discovery: by id, by moved accounts, by institution and number. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Provider } from '#contract/resources.ts'
import { newId, upstreamId } from '#kernel/ids.ts'
import type { DiscoveredAccount, DiscoveredConnection } from '#providers/port.ts'
import type { AccountRow } from '#store/ports/accounts.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'
import { type HeldConnection, reconcile as reconcileHeld } from './reconcile.ts'

/** None of the connections is being deleted. */
const reconcile = (
  ours: readonly HeldConnection[],
  theirs: readonly DiscoveredConnection[],
  options: Parameters<typeof reconcileHeld>[2] = {},
) => reconcileHeld({ held: ours, leaving: new Map() }, theirs, options)

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
    statusAt: 0,
    lastRefreshedAt: null,
    createdAt: 0,
    endsAtProvider: false,
    consentExpiresAt: null,
    label: null,
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

test('a login that shares one of two accounts with another login is not its renewal', () => {
  const mine = held('a', 'bank', { own: 'xxxx1111', joint: 'xxxx9999' })
  const theirs = found('b', 'bank', { x: 'xxxx2222', y: 'xxxx9999' })
  assert.deepEqual(tell([mine], [theirs]), [[], ['b'], ['a']])
})

test('two logins at one institution that are renewed at once keep their own connections', () => {
  const ours = [
    held('a', 'bank', { own: 'xxxx1111', joint: 'xxxx9999' }),
    held('b', 'bank', { other: 'xxxx2222', joint2: 'xxxx9999' }),
  ]
  const theirs = [
    found('d', 'bank', { x: 'xxxx2222', y: 'xxxx9999' }),
    found('c', 'bank', { x2: 'xxxx1111', y2: 'xxxx9999' }),
  ]
  const [known, unknown, absent] = tell(ours, theirs)
  assert.deepEqual(known?.toSorted(), ['a→c', 'b→d'])
  assert.deepEqual([unknown, absent], [[], []])
})

test('two logins with the same account numbers are not told apart', () => {
  const ours = [held('a', 'bank', { m: 'xxxx1234' }), held('b', 'bank', { n: 'xxxx1234' })]
  const theirs = [found('c', 'bank', { x: 'xxxx1234' }), found('d', 'bank', { y: 'xxxx1234' })]
  assert.deepEqual(tell(ours, theirs), [[], ['c', 'd'], ['a', 'b']])
})

test('a renewal that was asked for takes the one new consent at its institution', () => {
  const ours = [held('a', 'bank', { m: null }), held('b', 'bank', { n: null })]
  const renews = ours[0]?.row.id ?? null
  const tellAsked = (theirs: readonly DiscoveredConnection[]) => {
    const { known, unknown } = reconcile(ours, theirs, { renews })
    return [
      known.map(({ row, found: to, isRenewed }) => [row.upstreamId, to.upstreamId, isRenewed]),
      unknown.map(({ upstreamId: id }) => id),
    ]
  }
  assert.deepEqual(tellAsked([found('x', 'bank')]), [[['a', 'x', true]], []])
  assert.deepEqual(tellAsked([found('x', 'elsewhere')]), [[], ['x']])
  assert.deepEqual(tellAsked([found('x', 'bank'), found('y', 'bank')]), [[], ['x', 'y']])
  assert.deepEqual(tellAsked([found('a', 'bank')]), [[['a', 'a', true]], []])
  assert.deepEqual(tellAsked([found('b', 'bank')]), [[['b', 'b', false]], []])
})

test('a consent whose connection is being deleted renews no other one', () => {
  const ours = [held('a', 'bank', { m: 'xxxx1111' })]
  const theirs = [found('b', 'bank', { x: 'xxxx1111' })]
  const options = { renews: ours[0]?.row.id ?? null }
  const leaving = new Map([[upstreamId('b'), held('b', 'bank').row]])
  const met = reconcileHeld({ held: ours, leaving }, theirs, options)
  assert.deepEqual([met.known.length, met.unknown.length, met.leaving.length], [0, 0, 1])
  assert.equal(reconcile(ours, theirs, options).known.length, 1)
})

test('a renewal that was asked for does not take a login with other account numbers', () => {
  const ours = [held('a', 'bank', { m: 'xxxx1111' }), held('b', 'bank', { n: 'xxxx2222' })]
  const renews = ours[0]?.row.id ?? null
  const meant = reconcile(ours, [found('x', 'bank', { o: 'xxxx3333' })], { renews })
  assert.equal(meant.known.length, 0)
  const other = reconcile(ours, [found('x', 'bank', { o: 'xxxx2222' })], { renews })
  assert.equal(other.known[0]?.row.upstreamId, 'b')
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

test('which connections keep their ids does not depend on the order of either list', () => {
  const number = fc.constantFrom('xxxx1', 'xxxx2', 'xxxx3', null)
  const accounts = fc.array(number, { maxLength: 3 })
  const shape = fc.record({
    id: fc.constantFrom(...'abcdefgh'),
    bank: fc.constantFrom('22', '41'),
    accounts,
  })
  const list = fc.uniqueArray(shape, { selector: ({ id }) => id, maxLength: 5 })
  const toAccounts = (id: string, numbers: readonly (string | null)[]) =>
    Object.fromEntries(numbers.map((one, index) => [`${id}${index}`, one]))
  fc.assert(
    fc.property(list, list, fc.boolean(), (mine, theirs, isAsked) => {
      const ours = mine.map(({ id, bank, accounts: own }) => held(id, bank, toAccounts(id, own)))
      const listed = theirs.map(({ id, bank, accounts: own }) =>
        found(id.toUpperCase(), bank, toAccounts(`${id}!`, own)),
      )
      const renews = isAsked ? (ours[0]?.row.id ?? null) : null
      const pairs = (one: typeof ours, other: typeof listed) =>
        reconcile(one, other, { renews })
          .known.map(({ row, found: to }) => `${row.upstreamId}→${to.upstreamId}`)
          .toSorted()
      assert.deepEqual(pairs(ours.toReversed(), listed.toReversed()), pairs(ours, listed))
    }),
  )
})

test('a renewal beside which the provider keeps the broken consent moves the connection, by the numbers of its accounts alone', () => {
  const ours = [held('a', 'bank', { m: 'xxxx1111', n: 'xxxx2222' }), held('b', 'bank', {})]
  const renews = ours[0]?.row.id ?? null
  const broken = {
    ...found('a', 'bank', { m: 'xxxx1111', n: 'xxxx2222' }),
    status: 'invalidated',
  } as const
  const anew = found('x', 'bank', { o: 'xxxx1111', p: 'xxxx2222' })
  const tellOf = (theirs: readonly DiscoveredConnection[], options = { renews }) => {
    const { known, unknown } = reconcile(ours, theirs, options)
    const pairs = known.map(({ row, found: one }) => `${row.upstreamId}→${one.upstreamId}`)
    return [pairs.toSorted(), unknown.map(({ upstreamId: id }) => id)]
  }
  const other = found('b', 'bank')
  assert.deepEqual(tellOf([broken, anew, other]), [['a→x', 'b→b'], ['a']])
  assert.deepEqual(tellOf([other, anew, broken]), [['a→x', 'b→b'], ['a']])
  assert.deepEqual(tellOf([broken, anew, other], { renews: null }), [['a→a', 'b→b'], ['x']])
  const active = { ...broken, status: 'active' } as const
  assert.deepEqual(tellOf([active, anew, other]), [['a→a', 'b→b'], ['x']])
  for (const theirs of [
    [broken, found('x', 'bank', { o: 'xxxx3333' })],
    [broken, found('x', 'bank', { o: null })],
    [broken, found('x', 'elsewhere', { o: 'xxxx1111', p: 'xxxx2222' })],
    [broken, anew, { ...anew, upstreamId: upstreamId('y') }],
    [broken, { ...anew, status: 'invalidated' } as const],
  ]) {
    assert.ok(tellOf(theirs)[0]?.includes('a→a'), JSON.stringify(theirs))
  }
})
