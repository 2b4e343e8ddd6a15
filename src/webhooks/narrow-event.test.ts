/** What a narrow key sees of events. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KeyScope } from '#contract/key-scopes.ts'
import { toReach } from '#contract/reach.ts'
import type { AccountId, ConnectionId, UserId } from '#kernel/ids.ts'
import { makeSight, wholeSight } from './narrow-event.ts'

const userId = 'u' as string as UserId
const [bank, other] = ['c1', 'c2'] as string[] as ConnectionId[]
const [everyday, savings] = ['a1', 'a2'] as string[] as AccountId[]
const accounts = [
  { id: everyday, connectionId: bank },
  { id: savings, connectionId: bank },
  { id: 'a3', connectionId: other },
]
const store = { accounts: { list: async () => accounts } } as unknown as Parameters<
  typeof makeSight
>[0]

const see = (limits: {
  readonly scopes?: readonly KeyScope[]
  readonly connectionIds?: readonly (ConnectionId | undefined)[]
  readonly accountIds?: readonly (AccountId | undefined)[]
}) =>
  makeSight(store, userId, {
    reach:
      toReach({
        scopes: limits.scopes ?? null,
        connectionIds: (limits.connectionIds as readonly ConnectionId[] | undefined) ?? null,
        accountIds: (limits.accountIds as readonly AccountId[] | undefined) ?? null,
      }) ?? undefined,
  })

const event = (rows: readonly string[], counts = { new: rows.length, chunks: 1 }) =>
  Buffer.from(
    `{"id":"e","type":"transactions.synced","data":{"new":[${rows.join(',')}],"updated":[]},"metadata":{"sync_run_id":"r","new_count":${counts.new},"updated_count":0,"chunk":1,"total_chunks":${counts.chunks}}}`,
  )
const row = (account: string, amount = '90071992547409931') =>
  `{"id":"t","account_id":"${account}","amount":${amount}}`
const sync = { type: 'transactions.synced', connectionId: bank ?? null } as const

test('R43: who sees everything gets the very bytes', async () => {
  const body = event([row('a1')])
  assert.equal(await makeSight(store, userId, {}), wholeSight)
  assert.equal(wholeSight.narrow(body), body)
})

test('R28: an agent without the scope of brokers sees no trades, and everything else', async () => {
  const banks = await makeSight(store, userId, { scopes: ['mcp:read'] })
  assert.equal(banks.sees({ ...sync, type: 'trades.synced' }), false)
  assert.equal(banks.sees(sync), true)
  assert.equal(banks.sees({ ...sync, type: 'connection.linked' }), true)
  assert.notEqual(banks.name, wholeSight.name)
  const both = { scopes: ['mcp:read', 'brokerage:read'] } as const
  assert.equal(await makeSight(store, userId, both), wholeSight)
})

test('R43: events of other connections and other kinds of data do not exist', async () => {
  const narrow = await see({ scopes: ['transactions', 'events'], connectionIds: [bank] })
  assert.equal(narrow.sees(sync), true)
  assert.equal(narrow.sees({ ...sync, connectionId: other ?? null }), false)
  assert.equal(narrow.sees({ ...sync, connectionId: null }), false)
  assert.equal(narrow.sees({ ...sync, type: 'trades.synced' }), false)
  const ofAccount = await see({ accountIds: [everyday] })
  assert.equal(ofAccount.sees(sync), true)
  assert.equal(ofAccount.sees({ ...sync, connectionId: other ?? null }), false)
})

test('R43: rows of other accounts are not in an event, nor in its counts; amounts keep their digits', async () => {
  const narrow = await see({ accountIds: [everyday] })
  const seen = narrow.narrow(event([row('a1'), row('a2'), row('a1', '5')], { new: 240, chunks: 3 }))
  assert.equal(
    Buffer.from(seen ?? []).toString(),
    `{"id":"e","type":"transactions.synced","data":{"new":[${row('a1')},${row('a1', '5')}],"updated":[]},"metadata":{"sync_run_id":"r","new_count":2,"updated_count":0,"chunk":1,"total_chunks":1}}`,
  )
})

test('R43: a sync that brought rows of other accounts alone is one that brought nothing, and no chunk more', async () => {
  const narrow = await see({ accountIds: [everyday] })
  const hidden = event([row('a2'), row('a2')], { new: 240, chunks: 3 })
  assert.deepEqual(narrow.narrow(hidden), event([]))
  const later = Buffer.from(hidden.toString().replace('"chunk":1', '"chunk":2'))
  assert.equal(narrow.narrow(later), null)
})

test('R43: an event whose rows are all seen stays as it is, unless its run had others', async () => {
  const narrow = await see({ accountIds: [everyday] })
  const fresh = event([])
  assert.equal(narrow.narrow(fresh), fresh)
  const whole = event([row('a1')])
  assert.equal(narrow.narrow(whole), whole)
  const part = narrow.narrow(event([row('a1')], { new: 101, chunks: 2 }))
  assert.match(
    Buffer.from(part ?? []).toString(),
    /"new_count":1,"updated_count":0,"chunk":1,"total_chunks":1/,
  )
})
