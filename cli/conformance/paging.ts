/**
 * Checks of pages: a walk in small windows gives the rows of a walk in large ones, each once, in the same
 * order, with the same sum; and what `pagination` says of each window. A walk has at most 60 windows, most
 * have ten.
 */
import { add, type Decimal, parseDecimal, zero } from '#kernel/decimal.ts'
import { expect, skip } from './check.ts'
import { describe, errorOf, pagesOf, rowsOf, type ServerAnswer } from './exchange.ts'
import {
  type CheckSession,
  firstPage,
  rowsPath,
  type ServerCheck,
  type ServerChecks,
} from './session.ts'
import { tradesPath } from './shapes.ts'

const maxWindows = 60
/** A walk in small windows has about as many. */
const smallWindows = 8
/** What is compared at most: six large windows. */
const maxRows = 3000

type Row = Readonly<Record<string, unknown>>

interface Walk {
  readonly rows: readonly Row[]
  readonly pages: readonly ServerAnswer[]
  /** False: it ended at `maxRows`. */
  readonly isWhole: boolean
}

/** @throws Failure for a window that does not continue the one before it. */
async function walk(
  session: CheckSession,
  path: string,
  limit: number,
  most = maxRows,
): Promise<Walk> {
  const rows: Row[] = []
  const pages: ServerAnswer[] = []
  let offset = 0
  for (let count = 0; count < maxWindows && offset < most; count += 1) {
    const answer = await session.client.ask(`${path}&limit=${limit}&offset=${offset}`)
    if (answer.status === 503) skip(`503: ${String(errorOf(answer).message)}`)
    expect(answer.status === 200, '200', describe(answer))
    const page = pagesOf(answer)
    const length = typeof page.limit === 'number' ? page.limit : -1
    expect(length >= 0 && length <= limit, `pagination.limit up to ${limit}`, page)
    expect(page.offset === offset, `pagination.offset ${offset}`, page)
    const got = rowsOf(answer)
    expect(got.length <= length, `at most ${length} rows`, got.length)
    rows.push(...got)
    pages.push(answer)
    if (page.hasMore !== true) return { rows, pages, isWhole: true }
    const isCut = answer.headers.get('x-service-truncated') === 'true'
    expect(isCut || got.length === length, `${length} rows while there are more`, got.length)
    expect(length > 0 || isCut, 'a window that gets on', page)
    offset += length
  }
  return { rows, pages, isWhole: false }
}

interface Walks {
  readonly large: Walk
  readonly small: Walk
}

async function walkTwice(session: CheckSession, path: string, largest: number): Promise<Walks> {
  const large = await walk(session, path, largest)
  const { length } = large.rows
  if (length < 2) skip('fewer than two rows')
  const small = await walk(
    session,
    path,
    Math.min(largest, Math.ceil(length / smallWindows)),
    length,
  )
  return { large, small }
}

function expectSame({ large, small }: Walks): void {
  const list = ({ rows }: Walk) => rows.map((row) => String(row.id))
  const [wanted, got] = [list(large), list(small).slice(0, large.rows.length)]
  const twice = got.find((id, index) => got.indexOf(id) !== index)
  expect(twice === undefined, 'each row once', twice)
  const at = wanted.findIndex((id, index) => id !== got[index])
  expect(at === -1, `row ${at + 1}: ${wanted[at]}`, got[at] ?? 'no row')
  const isSurplus = large.isWhole && small.rows.length > wanted.length
  expect(!isSurplus, `${wanted.length} rows`, small.rows.length)
}

function expectTotals({ large, small }: Walks, isNullWhileMore: boolean): void {
  for (const answer of [...large.pages, ...small.pages]) {
    const { total, hasMore } = pagesOf(answer)
    const isCut = answer.headers.has('x-service-truncated')
    if (hasMore === true && isNullWhileMore) expect(total === null, 'total null', pagesOf(answer))
    const isExact = hasMore === false
    if (isExact && large.isWhole) {
      expect(total === large.rows.length, `total ${large.rows.length}`, pagesOf(answer))
    }
    const isBound = total === null || (typeof total === 'number' && total >= 0)
    expect(isBound && (isCut || !isExact || total !== null), 'a total', pagesOf(answer))
  }
}

function sum(rows: readonly Row[]): Decimal {
  return rows.reduce<Decimal>((total, { id, amount }) => {
    const value = typeof amount === 'string' ? parseDecimal(amount) : null
    expect(value !== null, 'decimal text', `${id}: ${JSON.stringify(amount)}`)
    return add(total, value)
  }, zero)
}

/** Both walks of a list, made once a run. */
function walks(read: (session: CheckSession) => Promise<Walks>) {
  const made = new WeakMap<CheckSession, Promise<Walks>>()
  return (session: CheckSession): Promise<Walks> => {
    const known = made.get(session) ?? read(session)
    made.set(session, known)
    return known
  }
}

const ofTransactions = walks(async (session) => {
  const path = rowsPath(await session.bankAccount(), session.now())
  return walkTwice(session, path, 500)
})
const ofTrades = walks(async (session) => {
  const path = tradesPath(await session.brokerage()).replace('&limit=500', '')
  return walkTwice(session, path, 500)
})
const ofAccounts = walks((session) => walkTwice(session, '/v1/accounts?conformance=1', 200))

const checks: readonly ServerCheck[] = [
  {
    name: 'small windows of accounts give every account once, in the order of large ones',
    clause: 'R18',
    run: async (session) => expectSame(await ofAccounts(session)),
  },
  {
    name: 'the total of accounts is exact in every window',
    clause: 'contract, Endpoints',
    async run(session) {
      const { large, small } = await ofAccounts(session)
      for (const answer of [...large.pages, ...small.pages]) {
        expect(pagesOf(answer).total === large.rows.length, `${large.rows.length}`, pagesOf(answer))
      }
    },
  },
  {
    name: 'hasMore is false in the window that reaches the last account, and beyond it',
    clause: 'contract, Pagination object',
    async run(session) {
      const { total } = pagesOf(await session.client.once(firstPage))
      if (typeof total !== 'number' || total === 0) skip('no accounts')
      for (const offset of [total - 1, total]) {
        const answer = await session.client.ask(`/v1/accounts?limit=1&offset=${offset}`)
        expect(pagesOf(answer).hasMore === false, 'hasMore false', describe(answer))
        expect(rowsOf(answer).length === total - offset, `${total - offset} rows`, describe(answer))
      }
      if (total === 1) return
      const before = await session.client.ask(`/v1/accounts?limit=1&offset=${total - 2}`)
      expect(pagesOf(before).hasMore === true, 'hasMore true before the last one', describe(before))
    },
  },
  {
    name: 'small windows of transactions give every row once, in the order of large ones',
    clause: 'R18',
    isLong: true,
    run: async (session) => expectSame(await ofTransactions(session)),
  },
  {
    name: 'the amounts of both walks have the same exact sum',
    clause: 'R18',
    isLong: true,
    async run(session) {
      const { large, small } = await ofTransactions(session)
      const [wanted, got] = [sum(large.rows), sum(small.rows.slice(0, large.rows.length))]
      expect(wanted === got, wanted, got)
    },
  },
  {
    name: 'the total of transactions is exact where hasMore is false',
    clause: 'R17',
    isLong: true,
    run: async (session) => expectTotals(await ofTransactions(session), false),
  },
  {
    name: 'small windows of trades give every row once, in the order of large ones',
    clause: 'R18',
    isLong: true,
    run: async (session) => expectSame(await ofTrades(session)),
  },
  {
    name: 'the total of trades is null while there are more, and exact where there are not',
    clause: 'R17',
    isLong: true,
    run: async (session) => expectTotals(await ofTrades(session), true),
  },
]

export const paging: ServerChecks = { name: 'paging', checks }
