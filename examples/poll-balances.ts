/**
 * Polls the balances of all bank accounts and prints each change once. It polls no more often than the
 * service reads the bank (answers are kept for five minutes) and obeys `Retry-After`. It exits with 1 when an
 * account is missing from an answer.
 *
 *   API_KEY=trib_live_… node scripts/pinned.js examples/poll-balances.ts [rounds]
 */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { ask, listBankAccounts, readArguments, readCount, stop } from './ask.ts'

interface Balance {
  readonly accountId: string
  /** Decimal text; null when the bank did not provide it, which is not zero. */
  readonly currentBalance: string | null
  readonly currency: string | null
}

const [wanted] = readArguments(1, 'poll-balances.ts [rounds]')
const rounds = wanted === undefined ? Number.POSITIVE_INFINITY : readCount('rounds', wanted, 1)
const pauseSeconds = readCount('POLL_SECONDS', process.env.POLL_SECONDS ?? '300', 0)
/** Contract, Limits: distinct accounts in one request. */
const maxAccounts = 100

const accounts = (await listBankAccounts()).slice(0, maxAccounts)
if (accounts.length === 0) stop('there is no bank account')
const path = `/v1/balances?accountIds=${accounts.map(({ id }) => id).join(',')}`
const known = new Map<string, string>()

for (let round = 1; round <= rounds; round += 1) {
  if (round > 1) await sleep(pauseSeconds * 1000)
  const { data } = await ask<{ data: readonly Balance[] }>(path)
  const byAccount = new Map(data.map((balance) => [balance.accountId, balance]))
  for (const { id, name } of accounts) {
    const balance = byAccount.get(id)
    assert.ok(balance !== undefined, `${name} is missing from the answer`)
    const { currentBalance, currency } = balance
    // Keep the last known balance: null does not mean that the account is empty.
    if (currentBalance === null) continue
    assert.ok(/^-?\d+(?:\.\d+)?$/.test(currentBalance), `${currentBalance} is not decimal text`)
    if (known.get(id) === currentBalance) continue
    known.set(id, currentBalance)
    console.log(`${name}: ${currentBalance} ${currency}`)
  }
}
