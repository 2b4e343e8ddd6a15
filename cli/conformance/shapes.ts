/**
 * Checks of the answers' fields: each operation's reply against its schema (further fields are allowed), and
 * the rules that a schema cannot express: order, masks, signs, nulls that go together, decimals as text.
 */
import { categories } from '#contract/categories.ts'
import { CheckFailure, expect, show, skip } from './check.ts'
import { describe, errorOf, rowsOf, type ServerAnswer } from './exchange.ts'
import { type CheckedRead, reads } from './reads.ts'
import {
  type CheckSession,
  firstPage,
  holdingsPath,
  rowsPath,
  type ServerCheck,
  type ServerChecks,
} from './session.ts'

/** The request whose answer shows an operation. @throws Skipped when the key's person lacks what it needs. */
const requests: Readonly<Record<CheckedRead, (session: CheckSession) => Promise<string>>> = {
  list_connections: async () => '/v1/connections',
  list_accounts: async () => firstPage,
  list_balances: balancesPath,
  list_transactions: async (session) =>
    `${rowsPath(await session.bankAccount(), session.now())}&limit=500`,
  list_holdings: async (session) => holdingsPath(await session.brokerage()),
  list_trades: async (session) => tradesPath(await session.brokerage()),
  list_categories: async () => '/v1/categories',
}

export const tradesPath = (connectionId: string) =>
  `/v1/trades?connectionId=${connectionId}&limit=500`

async function balancesPath(session: CheckSession): Promise<string> {
  const ids = (await session.accountIds('banking')).slice(0, 20)
  return ids.length === 0 ? skip('no banking account') : `/v1/balances?accountIds=${ids.join()}`
}

async function readGood(session: CheckSession, name: CheckedRead): Promise<ServerAnswer> {
  const answer = await session.client.once(await requests[name](session))
  const { status } = answer
  if (status === 501 || status === 503) skip(`${status}: ${String(errorOf(answer).message)}`)
  expect(status === 200, '200', describe(answer))
  return answer
}

const replies = reads.map(({ name, path, reply }): ServerCheck => {
  return {
    name: `the answer of ${path} has the documented fields`,
    clause: 'contract, Resources',
    async run(session) {
      const answer = await readGood(session, name)
      const type = answer.headers.get('content-type') ?? ''
      expect(/^application\/json(?:;|$)/.test(type), 'content-type application/json', type)
      const [issue] = reply.safeParse(answer.body).error?.issues ?? []
      if (issue === undefined) return
      const place = issue.path.join('.')
      const value = issue.path.reduce<unknown>(
        (at, step) => (at as Readonly<Record<PropertyKey, unknown>> | undefined)?.[step],
        answer.body,
      )
      throw new CheckFailure(`${place}: ${issue.message}`, `${path}: ${show(value)}`)
    },
  }
})

const decimalFields: ReadonlySet<string> = new Set([
  ...['currentBalance', 'availableBalance', 'amount', 'quantity', 'price', 'totalAmount', 'fees'],
  ...['averagePrice', 'currentPrice', 'marketValue', 'unrealizedPnl'],
])

const rules: readonly ServerCheck[] = [
  {
    name: 'every amount, quantity and price is plain decimal text or null',
    clause: 'R24',
    async run(session) {
      for (const { path } of reads) await readIfAny(session, path)
      for (const answer of session.client.answers.filter(({ status }) => status === 200)) {
        for (const [field, value] of rowsOf(answer).flatMap(Object.entries)) {
          if (!decimalFields.has(field) || value === null) continue
          const isPlain = typeof value === 'string' && /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/.test(value)
          const isNegativeZero = typeof value === 'string' && /^-[0.]+$/.test(value)
          const seen = `${answer.path}: ${field} ${JSON.stringify(value)}`
          expect(isPlain && !isNegativeZero, 'plain decimal text', seen)
        }
      }
    },
  },
  {
    name: 'the sixteen categories are exactly those of the contract, in their order',
    clause: 'contract, Category',
    async run(session) {
      const rows = rowsOf(await readGood(session, 'list_categories'), 'categories')
      const pairs = rows.map(({ key, label }) => `${String(key)} ${String(label)}`)
      const wanted = categories.map(({ key, label }) => `${key} ${label}`)
      const at = wanted.findIndex((pair, index) => pair !== pairs[index])
      expect(at === -1, wanted[at] ?? '', pairs[at])
      expect(pairs.length === wanted.length, '16 categories', `${pairs.length}`)
    },
  },
  {
    name: 'connections are ordered by createdAt, newest first',
    clause: 'contract, Endpoints',
    async run(session) {
      const times = rowsOf(await readGood(session, 'list_connections')).map((row) =>
        Date.parse(String(row.createdAt)),
      )
      if (times.length < 2) skip('fewer than two connections')
      const at = times.findIndex((time, index) => time > (times[index - 1] ?? time))
      expect(at === -1, 'newest first', `connection ${at + 1} is newer than the one before it`)
    },
  },
  {
    name: 'accounts are ordered by name',
    clause: 'R16b',
    async run(session) {
      const names = rowsOf(await readGood(session, 'list_accounts')).map(({ name }) => String(name))
      if (names.length < 2) skip('fewer than two accounts')
      const { compare } = new Intl.Collator('und')
      const at = names.findIndex(
        (name, index) => index > 0 && compare(names[index - 1] ?? '', name) > 0,
      )
      expect(at === -1, 'order by name', `"${names[at - 1]}" before "${names[at]}"`)
    },
  },
  {
    name: 'every account is on a connection that is listed',
    clause: 'contract, Connection',
    async run(session) {
      const connections = new Set((await session.connections()).map(({ id }) => id))
      for (const { id, connectionId } of rowsOf(await readGood(session, 'list_accounts'))) {
        expect(
          connections.has(connectionId),
          'a listed connection',
          `account ${id}: ${connectionId}`,
        )
      }
    },
  },
  {
    name: 'balances have each requested account once, also when it is named twice',
    clause: 'contract, Balances',
    async run(session) {
      const ids = (await session.accountIds('banking')).slice(0, 20)
      const [first = skip('no banking account')] = ids
      const answer = await session.client.ask(`/v1/balances?accountIds=${[...ids, first].join()}`)
      if (answer.status === 501) skip('the server answers 501')
      expect(answer.status === 200, '200', describe(answer))
      const got = rowsOf(answer).map(({ accountId }) => String(accountId))
      expect(got.toSorted().join() === ids.toSorted().join(), ids.toSorted().join(), got.join())
    },
  },
  {
    name: 'where a balance could not be read, all three of its fields are null',
    clause: 'contract, Balance',
    async run(session) {
      for (const row of rowsOf(await readGood(session, 'list_balances'))) {
        const { currentBalance, availableBalance, currency } = row
        const isFailed = currency === null
        const isWhole = !isFailed || (currentBalance === null && availableBalance === null)
        expect(isWhole, 'three nulls', row)
      }
    },
  },
  {
    name: 'the direction of a transaction agrees with the sign of its amount',
    clause: 'contract, Transaction',
    async run(session) {
      for (const { id, amount, direction } of await listTransactions(session)) {
        const isDebit = String(amount).startsWith('-')
        const isZero = /^[0.]+$/.test(String(amount))
        const holds = isZero || direction === (isDebit ? 'debit' : 'credit')
        expect(holds, isDebit ? 'debit' : 'credit', `${id}: ${amount} ${direction}`)
      }
    },
  },
  {
    name: 'a request for one account gives posted rows of that account alone',
    clause: 'contract, Transaction',
    async run(session) {
      const { accountId } = await session.bankAccount()
      for (const row of await listTransactions(session)) {
        expect(row.status === 'posted', 'posted', `${row.id}: ${row.status}`)
        expect(row.accountId === accountId, accountId, `${row.id}: ${row.accountId}`)
      }
    },
  },
]

async function listTransactions(session: CheckSession) {
  const rows = rowsOf(await readGood(session, 'list_transactions'))
  return rows.length === 0 ? skip('the account has no rows in a year') : rows
}

/** Reads what the key's person has; what they lack is another check's finding. */
async function readIfAny(session: CheckSession, path: string): Promise<void> {
  const found = reads.find((operation) => operation.path === path)
  if (found !== undefined) await readGood(session, found.name).catch(() => {})
}

export const shapes: ServerChecks = { name: 'shapes', checks: [...replies, ...rules] }
