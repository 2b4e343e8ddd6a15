/**
 * Income and spending of one account within a year: reads all pages and sums them exactly. No amount is ever
 * a float. It exits with 1 when the answers are inconsistent.
 *
 *   TRIBUTARY_API_KEY=trib_live_… node scripts/pinned.js examples/sum-an-account.ts [account id]
 */
import assert from 'node:assert/strict'
import { compare, sum, type Transaction } from '../sdk/typescript/index.js'
import { listBankAccounts, openClient, readArguments, run, stop } from './client.ts'

const [wanted] = readArguments(1, 'sum-an-account.ts [account id]')
const client = openClient()
const total = (rows: readonly Transaction[]) => sum(rows.map(({ amount }) => amount))

await run(async () => {
  const accounts = await listBankAccounts(client)
  const account = wanted === undefined ? accounts[0] : accounts.find(({ id }) => id === wanted)
  if (account === undefined)
    stop(`there is no such bank account${wanted === undefined ? '' : `: ${wanted}`}`)

  // Both bounds are set, so that every page belongs to the same query.
  const query = {
    connectionId: account.connectionId,
    accountId: account.id,
    from: Temporal.Now.plainDateISO('UTC').subtract({ years: 1 }).toString(),
    to: Temporal.Now.instant().toString({ smallestUnit: 'second' }),
    limit: 100,
    // A row in another currency names it, and is not added to the others.
    include: 'currency',
  } as const
  const rows: Transaction[] = []
  let counted: number | null = null
  for await (const page of client.transactions.list(query).pages()) {
    rows.push(...page.data)
    counted = page.pagination?.total ?? null
  }

  assert.equal(new Set(rows.map(({ id }) => id)).size, rows.length, 'a row came twice')
  assert.equal(rows.length, counted, 'the pages hold as many rows as the last of them counts')
  const byCurrency = Map.groupBy(rows, (row) => row.currency ?? account.currency)
  if (byCurrency.size === 0) byCurrency.set(account.currency, [])
  for (const [currency, own] of byCurrency) {
    const paidIn = total(own.filter(({ direction }) => direction === 'credit'))
    const paidOut = total(own.filter(({ direction }) => direction === 'debit'))
    assert.ok(compare(paidIn, '0') >= 0 && compare(paidOut, '0') <= 0, 'signs agree')

    console.log(`${account.name}, ${currency}: ${own.length} transactions within a year`)
    console.log(`in  ${paidIn}`)
    console.log(`out ${paidOut}`)
    console.log(`net ${total(own)}`)
  }
})
