/**
 * Follows pending transactions of all bank accounts until they are posted, and prints what became of each.
 * Pending rows are kept apart from posted ones: each answer says which there are, and `supersedes` says what
 * a posted row replaced. It exits with 1 when a row is in an answer twice.
 *
 *   TRIBUTARY_API_KEY=trib_live_… node scripts/pinned.js examples/follow-pending.ts [rounds]
 */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Account, Transaction } from '../sdk/typescript/index.js'
import { listBankAccounts, openClient, readArguments, readCount, run, stop } from './client.ts'

const [wanted] = readArguments(1, 'follow-pending.ts [rounds]')
const rounds = wanted === undefined ? Number.POSITIVE_INFINITY : readCount('rounds', wanted, 1)
// Answers are kept for half an hour.
const pauseSeconds = readCount('POLL_SECONDS', process.env.POLL_SECONDS ?? '1800', 0)
const client = openClient()
/** What was pending at the last look, by account and id. */
const pending = new Map<string, Map<string, Transaction>>()

/** A connection that cannot be read leaves what is known of it as it is. */
async function look({ id, connectionId, name }: Account): Promise<void> {
  const query = { connectionId, accountId: id, includePending: true }
  const rows: Transaction[] = []
  for await (const row of client.transactions.list(query)) rows.push(row)
  assert.equal(new Set(rows.map((row) => row.id)).size, rows.length, `${name} has a row twice`)

  const before = pending.get(id) ?? new Map<string, Transaction>()
  const now = new Map(rows.flatMap((row) => (row.status === 'pending' ? [[row.id, row]] : [])))
  const replaced = new Map(rows.flatMap((row) => (row.supersedes ? [[row.supersedes, row]] : [])))
  for (const [key, row] of before) {
    if (now.has(key)) continue
    const by = replaced.get(key)
    const end = by === undefined ? 'is not pending any more' : `was posted as ${by.amount}`
    console.log(`${name}: ${row.description} ${row.amount} ${end}`)
  }
  for (const [key, row] of now) {
    if (!before.has(key)) console.log(`${name}: ${row.description} ${row.amount} is pending`)
  }
  pending.set(id, now)
}

await run(async () => {
  const accounts = await listBankAccounts(client)
  if (accounts.length === 0) stop('there is no bank account')
  for (let round = 1; round <= rounds; round += 1) {
    if (round > 1) await sleep(pauseSeconds * 1000)
    for (const account of accounts) await look(account)
  }
})
