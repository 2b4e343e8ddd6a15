/**
 * The currency of an account of which the bank tells none (`XXX`, or details that were not told): that of its
 * money. It is learnt once, from what is kept of the account, else by a sync, and remembered.
 */
import { parseCurrency } from '#kernel/money.ts'
import { dayMs } from '#kernel/time.ts'
import { UpstreamError } from '../failure.ts'
import { keepsReadings } from '../login.ts'
import type { CallContext, Login } from '../port.ts'
import { peekBalances, peekRows, readBalances, readRows } from './account-readings.ts'
import type { Reach } from './consent.ts'
import { findKeptCurrency } from './kept-rows.ts'
import { currencyOf } from './map.ts'
import type { KeptAccount } from './secret.ts'

/** Below the longest timer (24.8 days); then it is learnt again. */
const lifeMs = 20 * dayMs

/** Null: it is not told, and its money could not be read. */
export async function findCurrency(
  reach: Reach,
  login: Login,
  account: KeptAccount,
  call: CallContext,
): Promise<string | null> {
  if (account.currency !== null) return account.currency
  const { readings } = reach
  const named = { name: `currency:${account.id}`, login, maxAgeMs: lifeMs }
  const known = await readings.peek(named)
  if (known !== null) return parseCurrency(Buffer.from(known.body).toString('utf8'))
  const learnt = await learn(reach, login, account, call)
  if (learnt !== null) {
    await readings.get({
      ...named,
      call: keepsReadings(call),
      read: async () => Buffer.from(learnt),
    })
  }
  return learnt
}

/**
 * From what is kept. A sync asks for the rows that it reads next, or for a balance where there are none. The
 * calls of people are left to them.
 */
async function learn(
  reach: Reach,
  login: Login,
  account: KeptAccount,
  call: CallContext,
): Promise<string | null> {
  const balances = await peekBalances(reach, login, account)
  const rows = await peekRows(reach, login, account)
  const kept = (balances && currencyOf(balances)) ?? (rows && (await findKeptCurrency(rows)))
  if (kept !== null || call.priority !== 'background') return kept
  const later = keepsReadings(call)
  try {
    const asked = { reach, login, account, call: later }
    const rowsNow = (await readRows(asked)).value
    return (await findKeptCurrency(rowsNow)) ?? currencyOf((await readBalances(asked)).value)
  } catch (error) {
    if (error instanceof UpstreamError) return null
    throw error
  }
}
