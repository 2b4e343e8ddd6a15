/**
 * Polls the balances of all bank accounts and prints each change once. It polls no more often than the
 * service reads the bank (answers are kept for five minutes); the client obeys `Retry-After`. It exits with 1
 * when an account is missing from an answer.
 *
 *   TRIBUTARY_API_KEY=trib_live_… node scripts/pinned.js examples/poll-balances.ts [rounds]
 */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Balance } from '../sdk/typescript/index.js'
import { listBankAccounts, openClient, readArguments, readCount, run, stop } from './client.ts'

const [wanted] = readArguments(1, 'poll-balances.ts [rounds]')
const rounds = wanted === undefined ? Number.POSITIVE_INFINITY : readCount('rounds', wanted, 1)
const pauseSeconds = readCount('POLL_SECONDS', process.env.POLL_SECONDS ?? '300', 0)
const client = openClient()

await run(async () => {
  const accounts = await listBankAccounts(client)
  if (accounts.length === 0) stop('there is no bank account')
  const accountIds = accounts.map(({ id }) => id)
  const known = new Map<string, string>()

  for (let round = 1; round <= rounds; round += 1) {
    if (round > 1) await sleep(pauseSeconds * 1000)
    const byAccount = new Map<string, Balance>()
    for await (const balance of client.balances.list({ accountIds })) {
      byAccount.set(balance.accountId, balance)
    }
    for (const { id, name } of accounts) {
      const balance = byAccount.get(id)
      assert.ok(balance !== undefined, `${name} is missing from the answer`)
      const { currentBalance, currency } = balance
      // Keep the last known balance: null does not mean that the account is empty.
      if (currentBalance === null || known.get(id) === currentBalance) continue
      known.set(id, currentBalance)
      console.log(`${name}: ${currentBalance} ${currency}`)
    }
  }
})
