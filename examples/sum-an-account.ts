/**
 * Income and spending of one account within a year: reads all pages and sums them exactly with bigint.
 * No amount is ever a float. It exits with 1 when the answers are inconsistent.
 *
 *   API_KEY=trib_live_… node scripts/pinned.js examples/sum-an-account.ts [account id]
 */
import assert from 'node:assert/strict'
import { askAll, listBankAccounts, readArguments, stop } from './ask.ts'

interface Transaction {
  readonly id: string
  readonly amount: string
  readonly direction: 'debit' | 'credit'
}

/** An amount as a whole number of units of 10^-scale. */
interface Exact {
  readonly units: bigint
  readonly scale: number
}

const zero: Exact = { units: 0n, scale: 0 }

function add(sum: Exact, amount: unknown): Exact {
  const match = typeof amount === 'string' ? /^(-?)(\d+)(?:\.(\d+))?$/.exec(amount) : null
  assert.ok(match !== null, `the amount ${JSON.stringify(amount)} is not decimal text`)
  const [, sign = '', whole = '', fraction = ''] = match
  const scale = Math.max(sum.scale, fraction.length)
  const units = BigInt(sign + whole + fraction.padEnd(scale, '0'))
  return { units: sum.units * 10n ** BigInt(scale - sum.scale) + units, scale }
}

function toText({ units, scale }: Exact): string {
  const digits = String(units < 0n ? -units : units).padStart(scale + 1, '0')
  const text = scale === 0 ? digits : `${digits.slice(0, -scale)}.${digits.slice(-scale)}`
  return units < 0n ? `-${text}` : text
}

const [wanted] = readArguments(1, 'sum-an-account.ts [account id]')
const accounts = await listBankAccounts()
const account = wanted === undefined ? accounts[0] : accounts.find(({ id }) => id === wanted)
if (account === undefined)
  stop(`there is no such bank account${wanted === undefined ? '' : `: ${wanted}`}`)

// Both bounds are set, so that every page belongs to the same query.
const now = Temporal.Now.instant().toString({ smallestUnit: 'second' })
const query = new URLSearchParams({
  connectionId: account.connectionId,
  accountId: account.id,
  from: Temporal.Now.plainDateISO('UTC').subtract({ years: 1 }).toString(),
  to: now,
})
const { rows, total } = await askAll<Transaction>(`/v1/transactions?${query}`, 100)

assert.equal(new Set(rows.map(({ id }) => id)).size, rows.length, 'a row came twice')
assert.equal(rows.length, total, 'the windows hold as many rows as the last of them counts')
const sum = (some: readonly Transaction[]) => some.reduce((all, row) => add(all, row.amount), zero)
const paidIn = sum(rows.filter(({ direction }) => direction === 'credit'))
const paidOut = sum(rows.filter(({ direction }) => direction === 'debit'))
assert.ok(paidIn.units >= 0n && paidOut.units <= 0n, 'signs agree with directions')

console.log(`${account.name}, ${account.currency}: ${rows.length} transactions within a year`)
console.log(`in  ${toText(paidIn)}`)
console.log(`out ${toText(paidOut)}`)
console.log(`net ${toText(sum(rows))}`)
