/**
 * The books of pending rows at each provider (readings R39, R35): purchases are held, posted with the same or
 * another amount, dropped, and some have a twin, while endpoints with and without `pending` and readers of
 * REST follow them. Nothing is announced twice or left out, and the sums meet those of the provider.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { z } from 'zod'
import type { TransactionsSynced } from '#contract/events.ts'
import { makeRandom } from '#tests/support/paging-board.ts'
import { type Service, type ServiceUser, startService } from '#tests/support/service.ts'
import { watch } from './watcher.ts'

type Data = z.infer<typeof TransactionsSynced>['data']

const hourMs = 3_600_000
/** How many purchases each provider has: more by the variable, for a long run. */
const purchases = Number(process.env.PENDING_PURCHASES ?? 120)
const steps = 16

interface Purchase {
  readonly key: string
  readonly text: string
  readonly hasTwin: boolean
  readonly heldAmount: string
  amount: string
  readonly madeAt: number
  state: 'held' | 'posted' | 'dropped'
  postedAt: number
}

/** Makes an account show these purchases, and no other rows, from now on. */
type Show = (all: readonly Purchase[]) => void

const isShown = ({ state }: Purchase) => state !== 'dropped'
const never = Date.parse('2030-01-01T00:00:00Z')
const iso = (ms: number) => new Date(ms).toISOString()
const startOfDay = (ms: number) => Date.parse(`${iso(ms).slice(0, 10)}T00:00:00Z`)
const noonOf = (ms: number) => Date.parse(`${iso(ms).slice(0, 10)}T12:00:00Z`)

const banks: Readonly<
  Record<string, { readonly stepMs: number; readonly open: (service: Service) => Show }>
> = {
  fiskil: {
    stepMs: 3 * hourMs,
    open({ sandbox }) {
      const account = sandbox.fiskil.people.pending?.consents[0]?.accounts[0] ?? assert.fail()
      const [sample] = account.rows
      account.grownThrough = Number.MAX_SAFE_INTEGER
      return (all) => {
        account.rows = all.filter(isShown).map((one) => ({
          seenFromMs: one.madeAt,
          postsAtMs: one.state === 'posted' ? one.postedAt : never,
          body: {
            ...sample?.body,
            fiskil_id: `bank_tx_${one.key}`,
            transaction_id: one.key,
            amount: one.state === 'posted' ? one.amount : one.heldAmount,
            description: one.text,
            posting_date_time: iso(one.postedAt),
            execution_date_time: iso(one.madeAt),
            value_date_time: iso(one.madeAt),
            merchant_name: undefined,
          },
        }))
      }
    },
  },
  akahu: {
    stepMs: 3 * hourMs,
    open({ sandbox }) {
      const account = sandbox.akahu.people.pending?.accounts[0] ?? assert.fail()
      const sample = account.rows[0] ?? assert.fail()
      const { merchant: _merchant, seenFrom: _seenFrom, ...plain } = sample
      return (all) => {
        Object.assign(account, { growth: undefined, rows: [], pending: [] })
        for (const one of all.filter(isShown)) {
          const row = { ...plain, description: one.text, created_at: iso(one.madeAt) }
          if (one.state === 'posted') {
            const at = { date: iso(one.postedAt), updated_at: iso(one.postedAt) }
            account.rows.push({ ...row, ...at, _id: `trans_${one.key}`, amount: one.amount })
          } else {
            const at = { date: iso(one.madeAt), updated_at: iso(one.madeAt) }
            account.pending.push({ ...row, ...at, amount: one.heldAmount })
          }
        }
      }
    },
  },
  up: {
    stepMs: 3 * hourMs,
    open({ sandbox }) {
      const account = sandbox.up.people.pending?.accounts[0] ?? assert.fail()
      const sample = account.rows[0] ?? assert.fail()
      account.growth = { through: '2030-01-01', grow: () => undefined }
      return (all) => {
        account.rows = all.filter(isShown).map((one) => ({
          ...sample,
          id: one.key,
          createdAt: one.madeAt,
          settlesAt: one.state === 'posted' ? one.postedAt : null,
          amount: one.amount,
          heldAmount: one.heldAmount,
          description: one.text,
          rawText: one.text,
        }))
      }
    },
  },
  simplefin: {
    stepMs: 13 * hourMs,
    open({ sandbox }) {
      const account = sandbox.simplefin.people.pending?.connections[0]?.accounts[0] ?? assert.fail()
      return (all) => {
        account.rows = all.filter(isShown).map((one) => ({
          id: `TRN-${one.key}`,
          postedAt: noonOf(one.state === 'posted' ? one.postedAt : one.madeAt),
          transactedAt: one.madeAt,
          settlesAt: one.state === 'posted' ? one.postedAt : never,
          seenAt: one.madeAt,
          amount: one.state === 'posted' ? one.amount : one.heldAmount,
          description: one.text,
        }))
      }
    },
  },
  enablebanking: {
    stepMs: 25 * hourMs,
    open({ sandbox }) {
      const account = sandbox.enablebanking.people.pending?.accounts[0] ?? assert.fail()
      return (all) => {
        account.rows = all.filter(isShown).map((one) => ({
          id: one.key,
          bookedAt: startOfDay(one.state === 'posted' ? one.postedAt : one.madeAt),
          ...(one.state === 'posted' ? {} : { settlesAt: never }),
          amount: one.state === 'posted' ? one.amount : one.heldAmount,
          description: one.text,
        }))
      }
    },
  },
}

const money = (cents: number) => {
  const digits = String(cents).padStart(3, '0')
  return `-${digits.slice(0, -2)}.${digits.slice(-2)}`
}

/** Changes the purchases as a bank does between two looks at it. */
function goOn(all: Purchase[], random: (below: number) => number, now: number): void {
  for (const one of all) {
    if (one.state !== 'held' || random(3) > 0) continue
    const fate = random(10)
    one.state = fate === 0 ? 'dropped' : 'posted'
    one.postedAt = now - random(30) * 60_000
    // The tip of a restaurant.
    if (fate === 1 && !one.hasTwin) one.amount = money(100_000 + random(1_000_000))
  }
  for (let count = 0; count < purchases / steps; count += 1) {
    const number = all.length
    const hasTwin = random(12) === 0
    const amount = money(1 + random(1_000_000))
    for (const twin of hasTwin ? ['a', 'b'] : ['']) {
      all.push({
        key: `00000000-0000-4000-8000-${String(number * 2 + (twin === 'b' ? 1 : 0)).padStart(12, '0')}`,
        text: `SHOP ${number}`,
        hasTwin,
        heldAmount: amount,
        amount,
        madeAt: now - (60 + random(60)) * 60_000,
        state: 'held',
        postedAt: now,
      })
    }
  }
}

interface Row {
  readonly id: string
  readonly status: string
  readonly description: string
  readonly amount: string
  readonly supersedes?: string
}

async function walk(service: Service, user: ServiceUser, query: string): Promise<readonly Row[]> {
  const rows: Row[] = []
  for (let offset = 0; ; ) {
    const { status, body } = await service.get(`${query}&limit=137&offset=${offset}`, user)
    assert.equal(status, 200)
    rows.push(...body.data)
    offset += body.pagination.limit
    if (!body.pagination.hasMore) return rows
  }
}

/** Events have whole cents, REST has exact text. */
function toCents(amount: string | number | bigint): bigint {
  if (typeof amount !== 'string') return BigInt(amount)
  const [whole = '', part = ''] = amount.split('.')
  return BigInt(`${whole}${part.padEnd(2, '0')}`)
}
const sumOf = (rows: readonly { readonly amount: string }[]): bigint =>
  rows.reduce((sum, { amount }) => sum + toCents(amount), 0n)
const nameOf = (amount: string | number | bigint, text: string) => `${text} ${toCents(amount)}`

for (const [provider, { stepMs, open }] of Object.entries(banks)) {
  test(`R39: at ${provider} held purchases are posted, changed and dropped, and every book of them meets the bank's`, async (t) => {
    const service = await startService()
    t.after(() => service.close())
    const random = makeRandom(39)
    const user = await service.createUser()
    const all: Purchase[] = []
    const begun = service.clock.now()
    const show = open(service)
    show(all)
    const [link = assert.fail()] = await service.link(user, 'pending', provider as 'up')
    const plain = await watch(service, user)
    const asking = await watch(service, user, { pending: true })
    const outstanding = new Map<string, string>()
    /** Of all pending rows that were ever announced. */
    const names = new Map<string, string>()
    const claims = new Map<string, string>()
    const posted = new Map<string, string>()
    const account = (await service.accounts(user)).find(
      ({ connectionId }) => connectionId === link.id,
    )
    for (let step = 0; step < steps; step += 1) {
      service.clock.advance(stepMs)
      goOn(all, random, service.clock.now())
      show(all)
      const { events } = await plain.sync(link.id)
      for (const { data } of events) assert.deepEqual(Object.keys(data), ['new', 'updated'])
      const chunks = (await asking.takeEvents()).map(({ data }): Data => data as Data)
      const parts = ['new', 'updated', 'pending', 'removed_pending']
      for (const data of chunks) assert.deepEqual(Object.keys(data), parts)
      const news = chunks.flatMap((chunk) => chunk.new)
      assert.deepEqual(
        events.flatMap(({ data }): readonly unknown[] => data.new),
        news,
      )
      for (const row of news) {
        assert.ok(!posted.has(row.id), `announced once: ${row.description}`)
        posted.set(row.id, nameOf(row.amount, row.description))
      }
      for (const id of chunks.flatMap((chunk) => chunk.removed_pending ?? [])) {
        assert.ok(outstanding.delete(id), 'only what was announced is taken back')
      }
      for (const row of chunks.flatMap((chunk) => chunk.pending ?? [])) {
        assert.match(row.id, /^pending_[0-9a-z]{26}$/)
        assert.deepEqual([row.object, row.status, row.post_date], ['transaction', 'pending', null])
        assert.ok(!names.has(row.id), `announced once: ${row.description}`)
        outstanding.set(row.id, nameOf(row.amount, row.description))
        names.set(row.id, nameOf(row.amount, row.description))
      }
      const held = all.filter(({ state }) => state === 'held')
      const bookedNow = all.filter(({ state }) => state === 'posted')
      assert.deepEqual(
        [...outstanding.values()].toSorted(),
        held.map(({ heldAmount, text }) => nameOf(heldAmount, text)).toSorted(),
        `pending at step ${step}`,
      )
      assert.deepEqual(
        [...posted.values()].toSorted(),
        bookedNow.map(({ amount, text }) => nameOf(amount, text)).toSorted(),
        `posted at step ${step}`,
      )
      const from = iso(begun - 48 * hourMs).slice(0, 10)
      const query = `/v1/transactions?connectionId=${link.id}&accountId=${account?.id}&from=${from}`
      const rows = await walk(service, user, `${query}&includePending=true`)
      assert.equal(new Set(rows.map(({ id }) => id)).size, rows.length, 'each row once')
      const [pendingRows, postedRows] = [
        rows.filter(({ status }) => status === 'pending'),
        rows.filter(({ status }) => status === 'posted'),
      ]
      assert.deepEqual(
        pendingRows.map(({ id }) => id).toSorted(),
        [...outstanding.keys()].toSorted(),
      )
      assert.equal(sumOf(postedRows), sumOf(bookedNow))
      const named = postedRows.map(({ id }) => id)
      assert.deepEqual(named.toSorted(), [...posted.keys()].toSorted(), 'as events name them')
      for (const { id, supersedes, description } of postedRows) {
        if (supersedes === undefined) continue
        const other = claims.get(supersedes)
        assert.ok(other === undefined || other === id, 'one row replaces a pending one')
        claims.set(supersedes, id)
        assert.equal(names.get(supersedes)?.replace(/ \S+$/, ''), description)
      }
    }
    const unchanged = all.filter(
      (one) => one.state === 'posted' && one.amount === one.heldAmount && !one.hasTwin,
    )
    t.diagnostic(
      `${all.length} purchases, ${posted.size} posted, ${claims.size} claims of ${unchanged.length}`,
    )
    // In doubt nothing is claimed: where more rows are posted in a month than are looked at, less is.
    assert.ok(claims.size > unchanged.length / 2)
  })
}
