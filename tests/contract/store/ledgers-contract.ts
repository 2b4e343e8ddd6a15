/** What the port promises of the ledger: bytes come back as they were, and what has ended is gone. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AccountId, newId, type UserId } from '#kernel/ids.ts'
import { OwnerGoneError } from '#store/failure.ts'
import type { LedgerMonth } from '#store/ports/ledgers.ts'
import type { StoreOf } from './place.ts'
import { addLink, addUser, newAccount, now, replaceAccounts } from './rows.ts'

const byPlace = (months: readonly LedgerMonth[]) =>
  months
    .map(({ accountId, month, entries }) => `${accountId} ${month} ${Buffer.from(entries)}`)
    .toSorted()

export function testLedgers(store: StoreOf): void {
  const ledgers = () => store().ledgers
  const addAccounts = async () => {
    const { user, connection } = await addLink(store())
    const rows = await replaceAccounts(store(), connection.id, [newAccount(), newAccount()])
    const [one, two] = rows.map(({ id }) => id)
    if (one === undefined || two === undefined) throw new Error('the accounts were not made')
    return { user, connection, one, two }
  }
  const monthOf = (accountId: AccountId, month: number, text: string): LedgerMonth => ({
    accountId,
    month,
    entries: Buffer.from(text),
  })

  test('R34b: a ledger begins once, with a random key of 32 bytes', async () => {
    const [mine, theirs] = [await addUser(store()), await addUser(store())]
    assert.equal(await ledgers().readKey(mine.id), null)
    await Promise.all([ledgers().begin(mine.id), ledgers().begin(mine.id)])
    await ledgers().begin(theirs.id)
    const key = await ledgers().readKey(mine.id)
    assert.equal(key?.byteLength, 32)
    await ledgers().begin(mine.id)
    assert.deepEqual(await ledgers().readKey(mine.id), key)
    assert.notDeepEqual(await ledgers().readKey(theirs.id), key)
    await assert.rejects(ledgers().begin(newId<UserId>()), OwnerGoneError)
  })

  test('months are written, replaced and read by account', async () => {
    const { one, two } = await addAccounts()
    const old = [monthOf(one, 24_310, 'a'), monthOf(one, 24_311, 'b'), monthOf(two, 24_311, 'c')]
    await ledgers().write(old)
    const replaced = monthOf(one, 24_311, 'longer than before')
    await ledgers().write([replaced, monthOf(two, 24_312, 'd')])
    const [first, , third] = old
    assert.ok(first && third)
    assert.deepEqual(byPlace(await ledgers().read([one])), byPlace([first, replaced]))
    assert.deepEqual(
      byPlace(await ledgers().read([one, two])),
      byPlace([first, replaced, third, monthOf(two, 24_312, 'd')]),
    )
    assert.deepEqual(await ledgers().read([]), [])
    assert.deepEqual(await ledgers().read([newId<AccountId>()]), [])
  })

  test('R39: the ids of announced pending rows are replaced by account, and end with the ledger', async () => {
    const { user, one, two } = await addAccounts()
    await ledgers().begin(user.id)
    assert.equal((await ledgers().readPending([one, two])).size, 0)
    await ledgers().writePending(
      new Map([
        [one, ['a', 'b']],
        [two, ['c']],
      ]),
    )
    await ledgers().writePending(
      new Map([
        [one, ['b', 'd']],
        [two, []],
      ]),
    )
    assert.deepEqual(await ledgers().readPending([one, two]), new Map([[one, ['b', 'd']]]))
    const lost = ledgers().writePending(new Map([[newId<AccountId>(), ['x']]]))
    await assert.rejects(lost, OwnerGoneError)
    await ledgers().end(user.id)
    assert.equal((await ledgers().readPending([one])).size, 0)
  })

  test('months before a bound are deleted, for the named accounts only', async () => {
    const { one, two } = await addAccounts()
    const months = [one, two].flatMap((id) => [1, 2, 3].map((month) => monthOf(id, month, 'x')))
    await ledgers().write(months)
    await ledgers().dropBefore([one], 3)
    assert.deepEqual(
      byPlace(await ledgers().read([one, two])),
      byPlace(months.filter(({ accountId, month }) => accountId === two || month === 3)),
    )
  })

  test('R34a: when a ledger ends, its key and months are gone and nothing is known of the rows', async () => {
    const { user, connection, one } = await addAccounts()
    const other = await addAccounts()
    for (const { id } of [user, other.user]) await ledgers().begin(id)
    const key = await ledgers().readKey(user.id)
    await ledgers().write([monthOf(one, 1, 'x'), monthOf(other.one, 1, 'x')])
    const options = { now, leaseMs: 1000, reason: 'operator' } as const
    const claimed = await store().syncs.claim(connection.id, options)
    assert.ok(claimed?.kind === 'claimed')
    const outcome = { kind: 'succeeded', newCount: 0, updatedCount: 0, chunks: 0 } as const
    await store().syncs.finish(claimed.sync.runId, {
      outcome: { ...outcome, rowsReadAt: now, ledgerFrom: now },
      endedAt: now,
      nextDueAt: now + 1,
    })
    await ledgers().end(user.id)
    assert.equal(await ledgers().readKey(user.id), null)
    assert.deepEqual(await ledgers().read([one]), [])
    assert.equal((await ledgers().read([other.one])).length, 1)
    const again = await store().syncs.claim(connection.id, options)
    assert.ok(again?.kind === 'claimed')
    assert.deepEqual([again.sync.rowsReadAt, again.sync.ledgerFrom], [now, null])
    await ledgers().begin(user.id)
    assert.notDeepEqual(await ledgers().readKey(user.id), key)
  })

  test('removing a connection deletes its months, and nothing is written for it', async () => {
    const { connection, one } = await addAccounts()
    await ledgers().write([monthOf(one, 1, 'x')])
    await store().connections.delete(connection.id)
    assert.deepEqual(await ledgers().read([one]), [])
    await assert.rejects(ledgers().write([monthOf(one, 1, 'x')]), OwnerGoneError)
  })

  test('deleting a user deletes key and months', async () => {
    const { user, one } = await addAccounts()
    await ledgers().begin(user.id)
    await ledgers().write([monthOf(one, 1, 'x')])
    await store().users.delete(user.id)
    assert.equal(await ledgers().readKey(user.id), null)
    assert.deepEqual(await ledgers().read([one]), [])
  })

  test('what one transaction wrote is gone when it fails', async () => {
    const { user, one } = await addAccounts()
    await ledgers().begin(user.id)
    const broken = store().transact(async (tx) => {
      assert.notEqual(await tx.ledgers.readKey(user.id), null)
      await tx.ledgers.write([monthOf(one, 1, 'x')])
      throw new Error('the test breaks off')
    })
    await assert.rejects(broken, /the test breaks off/)
    assert.deepEqual(await ledgers().read([one]), [])
  })

  test('many months and accounts are read and measured', async () => {
    const { one } = await addAccounts()
    const before = await ledgers().measure()
    const months = Array.from({ length: 1200 }, (_, month) => monthOf(one, month, 'four'))
    await ledgers().write(months)
    const strangers = Array.from({ length: 1200 }, () => newId<AccountId>())
    assert.equal((await ledgers().read([...strangers, one])).length, 1200)
    const after = await ledgers().measure()
    assert.deepEqual([after.months - before.months, after.bytes - before.bytes], [1200, 4800])
  })
}
