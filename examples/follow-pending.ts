/**
 * Follows the pending transactions of one account until they are posted, and prints what became of each.
 * Pending rows are kept apart from posted ones: each answer says which there are, and `supersedes` says what
 * a posted row replaced. It looks FOLLOW_ROUNDS times, or on and on, and exits with 1 when an answer has a
 * row twice.
 *
 *   TRIBUTARY_API_KEY=trib_live_… node scripts/pinned.js examples/follow-pending.ts [account id]
 */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Transaction } from '../sdk/typescript/index.js'
import { listBankAccounts, openClient, readArguments, readCount, run, stop } from './client.ts'

const [wanted] = readArguments(1, 'follow-pending.ts [account id]')
const rounds = readCount('FOLLOW_ROUNDS', process.env.FOLLOW_ROUNDS ?? '999999999', 1)
// Answers are kept for half an hour.
const pauseSeconds = readCount('POLL_SECONDS', process.env.POLL_SECONDS ?? '1800', 0)
const client = openClient()
/** What was pending at the last look. */
let pending = new Map<string, Transaction>()

function compare(rows: readonly Transaction[]): void {
  assert.equal(new Set(rows.map(({ id }) => id)).size, rows.length, 'a row came twice')
  const now = new Map(rows.flatMap((row) => (row.status === 'pending' ? [[row.id, row]] : [])))
  const replaced = new Map(rows.flatMap((row) => (row.supersedes ? [[row.supersedes, row]] : [])))
  for (const [id, { description, amount }] of pending) {
    if (now.has(id)) continue
    const by = replaced.get(id)
    const end = by === undefined ? 'is not pending any more' : `was posted as ${by.amount}`
    console.log(`${description} ${amount} ${end}`)
  }
  for (const [id, { description, amount }] of now) {
    if (!pending.has(id)) console.log(`${description} ${amount} is pending`)
  }
  pending = now
}

await run(async () => {
  const accounts = await listBankAccounts(client)
  const account = wanted === undefined ? accounts[0] : accounts.find(({ id }) => id === wanted)
  if (account === undefined)
    stop(`there is no such bank account${wanted === undefined ? '' : `: ${wanted}`}`)
  const { id: accountId, connectionId, name } = account
  for (let round = 1; round <= rounds; round += 1) {
    if (round > 1) await sleep(pauseSeconds * 1000)
    const query = { connectionId, accountId, includePending: true, limit: 500 }
    const rows: Transaction[] = []
    for await (const row of client.transactions.list(query)) rows.push(row)
    compare(rows)
    console.log(`${name}: ${rows.length} rows, ${pending.size} of them pending`)
  }
})
