/**
 * Balances of all bank accounts, asked again and again, each change told once. It asks no more often than the service
 * reads the bank (answers are kept for five minutes) and waits as long as it is told when it is refused. It ends with 1
 * when an account is missing from an answer.
 *
 *   API_KEY=trib_live_… node scripts/pinned.js examples/poll-balances.ts [rounds]
 */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { ask, listBankAccounts } from './ask.ts'

interface Balance {
  readonly accountId: string
  /** Decimal text; null when the bank could not tell it at the moment, which is not zero. */
  readonly currentBalance: string | null
  readonly currency: string | null
}

const rounds = Number(process.argv[2] ?? Number.POSITIVE_INFINITY)
const pauseSeconds = Number(process.env.POLL_SECONDS ?? 300)
assert.ok(pauseSeconds >= 0, 'POLL_SECONDS should be a number of seconds')
/** Specification, Limits: distinct accounts in one request. */
const maxAccounts = 100

const accounts = (await listBankAccounts()).slice(0, maxAccounts)
assert.ok(accounts.length > 0, 'there is no bank account')
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
    // What was known stays known: a bank that cannot tell has not emptied the account.
    if (currentBalance === null) continue
    assert.ok(/^-?\d+(?:\.\d+)?$/.test(currentBalance), `${currentBalance} is not decimal text`)
    if (known.get(id) === currentBalance) continue
    known.set(id, currentBalance)
    console.log(`${name}: ${currentBalance} ${currency}`)
  }
}
