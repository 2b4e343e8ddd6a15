/** Thousands of pending rows are followed until they are posted, end or vanish (reading R39). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Transaction } from '#contract/resources.ts'
import type { Decimal } from '#kernel/decimal.ts'
import { getZone, toIso, toMicros } from '#kernel/time.ts'
import { openWindows } from '#paging/windows.ts'
import type { BankingAdapter, RowsQuery, TransactionPage } from '#providers/port.ts'
import { untoldDates } from '#providers/row-details.ts'
import { makePendingId } from '#providers/row-identity.ts'
import { aCall, makePagedQuery } from '#tests/support/paged.ts'
import { openPendingMemories } from './pending-memory.ts'
import { openPendingSource } from './pending-source.ts'

const hourMs = 3_600_000
const begin = Date.parse('2026-03-01T00:00:00Z')

interface Purchase {
  readonly number: number
  readonly text: string
  readonly amount: string
  readonly mcc: string | null
  /** Where it is known, the text may be another one when the purchase is posted. */
  readonly merchant: string | null
  /** Said of the pending row alone, of the posted one alone, or of none. */
  readonly foreign: 'pending' | 'posted' | null
  readonly madeAt: number
  isSeen: boolean
  state: 'pending' | 'posted' | 'ended'
  postedAt: number
  postedAmount: string
  postedText: string
}

const base = makePagedQuery(0)
const [account] = base.accounts
assert.ok(account !== undefined)
const zone = getZone('UTC')
const pageSize = 20

const idOf = ({ number }: Purchase) => `tx_${number}`
const pendingIdOf = ({ number }: Purchase) =>
  makePendingId(new Uint8Array(32), { userId: base.userId, accountId: account.id }, `p${number}`)

function toRow(purchase: Purchase): Transaction {
  const isPending = purchase.state === 'pending'
  const at = isPending ? purchase.madeAt : purchase.postedAt
  return {
    id: isPending ? '' : idOf(purchase),
    accountId: account?.id ?? base.userId,
    accountName: 'Account',
    status: isPending ? 'pending' : 'posted',
    date: zone.dayOf(toMicros(at)),
    datetime: toIso(at),
    description: isPending ? purchase.text : purchase.postedText,
    amount: (isPending ? purchase.amount : purchase.postedAmount) as Decimal,
    direction: 'debit',
    category: null,
    merchantName: purchase.merchant,
    merchantCategoryCode: purchase.mcc,
  } as Transaction
}

/** A bank that lists what is posted in pages, and what is pending apart. */
function makeBank(purchases: readonly Purchase[]): BankingAdapter {
  function openPage(query: RowsQuery, cursor: string | null): TransactionPage {
    const { from } = query.window
    const listed = purchases
      .filter(({ state, postedAt }) => state === 'posted' && toMicros(postedAt) >= (from ?? 0))
      .toSorted((one, other) => other.postedAt - one.postedAt)
    const start = cursor === null ? 0 : listed.findIndex((row) => idOf(row) === cursor) + 1
    const rows = listed.slice(start, start + pageSize)
    const last = rows.at(-1)
    const rowAt = (index: number) => rows[index] ?? assert.fail('the index is on the page')
    return {
      length: rows.length,
      next: start + rows.length < listed.length && last !== undefined ? idOf(last) : null,
      ahead: [],
      total: null,
      ownRows: rows.length,
      body: Buffer.from(JSON.stringify(rows)),
      head(index) {
        const row = rowAt(index)
        return { id: idOf(row), account: account ?? assert.fail(), time: toMicros(row.postedAt) }
      },
      map: (index) => toRow(rowAt(index)),
      details: () => assert.fail('no details are asked for'),
      settling: (index) => ({
        dates: untoldDates,
        isForeign: rowAt(index).foreign === 'posted',
      }),
    }
  }
  const bank = {
    provider: 'fiskil',
    category: 'banking',
    transactions: {
      pageSize,
      overlap: 0,
      read: async (query: RowsQuery, cursor: string | null) => openPage(query, cursor),
      open: (query: RowsQuery, cursor: string | null) => openPage(query, cursor),
    },
    async pending() {
      const open = purchases.filter(({ state }) => state === 'pending')
      return {
        rows: open.map((one) => ({
          key: `p${one.number}`,
          row: toRow(one),
          time: toMicros(one.madeAt),
          dates: untoldDates,
          isForeign: one.foreign === 'pending',
          details: { currency: 'AUD', class: 'other', reference: null, extendedDescription: null },
        })),
      }
    },
  }
  return bank as unknown as BankingAdapter
}

interface Story {
  readonly purchases: Purchase[]
  readonly clock: { now(): number }
  /** Every row of the last thirty days, in windows. */
  readAll(): Promise<readonly Transaction[]>
}

function openStory(now: () => number): Story {
  const clock = { now }
  const purchases: Purchase[] = []
  const adapter = makeBank(purchases)
  const windows = openWindows({ maxBytes: 1e6, clock, shared: null })
  const memories = openPendingMemories({ key: new Uint8Array(32), clock, shared: null })
  let epoch = 0
  return {
    purchases,
    clock,
    async readAll() {
      epoch += 1
      const to = toMicros(clock.now())
      const window = { from: toMicros(clock.now() - 30 * 24 * hourMs), to, isOpen: true }
      const rows: Transaction[] = []
      for (let offset = 0, isComplete = false; !isComplete; ) {
        const asked = { ...base, zone, window }
        const found = await windows.read({
          source: await openPendingSource({ adapter, memories, clock, asked }),
          owner: 'u',
          name: 'q',
          epoch,
          zoneAndAccounts: '',
          ttlMs: 1_800_000,
          offset,
          limit: 40,
          pageCap: null,
          call: aCall(),
          confirmEnd: async () => undefined,
          onListChanged: async () => undefined,
        })
        rows.push(...found.rows.map(({ row }) => row))
        offset += found.rows.length
        isComplete = found.complete && offset >= found.seen
      }
      return rows
    },
  }
}

interface Habits {
  readonly seed: number
  /** Few shops and prices: equal purchases are common. */
  readonly isDull: boolean
}

/** A small generator, so that a failure is repeated by its seed. */
function makeDraw(seed: number) {
  let state = seed | 1
  return (below: number) => {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9
    return ((state >>> 3) & 0xffff) % below
  }
}

/** Follows a bank for three weeks. Every purchase is seen while it is pending. */
async function follow({ seed, isDull }: Habits) {
  const draw = makeDraw(seed)
  let now = begin
  const story = openStory(() => now)
  const { purchases } = story
  let claims = 0
  for (let step = 0; step < 60; step += 1) {
    now += (1 + draw(12)) * hourMs
    for (const one of purchases.filter(({ state, isSeen }) => state === 'pending' && isSeen)) {
      const fate = draw(10)
      if (fate < 4) {
        one.state = 'posted'
        one.postedAt = now - draw(60) * 60_000
        if (one.mcc !== null || one.foreign !== null) one.postedAmount = `-${draw(90) + 10}.00`
        if (one.merchant !== null) one.postedText = `CARD ${one.number}`
      } else if (fate === 4) one.state = 'ended'
    }
    for (let more = draw(4); more > 0; more -= 1) {
      const number = purchases.length
      const amount = isDull ? `-${1 + draw(2)}.50` : `-${number + 1}.50`
      const text = isDull ? `SHOP ${draw(3)}` : `SHOP ${number}`
      // The same amount is written in another way.
      purchases.push({
        ...{ number, text, amount, postedText: text, postedAmount: `${amount}0` },
        merchant: draw(3) === 0 ? `Shop of ${text}` : null,
        foreign: (['pending', 'posted'] as const)[draw(12)] ?? null,
        mcc: draw(9) === 0 ? '5542' : null,
        madeAt: now - draw(30) * 60_000,
        ...{ isSeen: false, state: 'pending', postedAt: 0 },
      })
    }
    const rows = await story.readAll()
    const expected = purchases
      .filter((one) => one.state === 'pending' || one.postedAt >= now - 30 * 24 * hourMs)
      .filter(({ state }) => state !== 'ended')
      .map((one) => (one.state === 'pending' ? pendingIdOf(one) : idOf(one)))
    assert.deepEqual(rows.map(({ id }) => id).toSorted(), expected.toSorted(), `step ${step}`)
    const byId = new Map(purchases.map((one) => [idOf(one), one]))
    for (const { id, supersedes } of rows) {
      const one = byId.get(id)
      if (supersedes === undefined || one === undefined) continue
      assert.equal(supersedes, pendingIdOf(one), `step ${step}: ${id} replaced another row`)
      claims += 1
    }
    for (const one of purchases) one.isSeen = true
    if (!isDull) {
      const recent = rows.filter(({ status, date }) => {
        return status === 'posted' && date > zone.dayOf(toMicros(now - 9 * 24 * hourMs))
      })
      for (const { id, supersedes } of recent) assert.ok(supersedes, `${id} replaced a row`)
    }
  }
  return { followed: purchases.length, claims }
}

test('R39: thousands of pending rows settle: none is lost or shown twice, and each claim is true', async () => {
  let [followed, claims] = [0, 0]
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 1e9 }), fc.boolean(), async (seed, isDull) => {
      const story = await follow({ seed, isDull })
      followed += story.followed
      claims += story.claims
    }),
    { numRuns: 30 },
  )
  assert.ok(followed > 2000 && claims > followed, `${followed} rows, ${claims} claims`)
})
