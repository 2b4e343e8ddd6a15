/**
 * The wait that a bank asked for, by account: until it is over the bank is not called without its person,
 * because a refused call may count as one of the few that it allows. Kept with readings, over renewals.
 */

import { hash } from 'node:crypto'
import type { LoginId } from '#kernel/ids.ts'
import { dayMs } from '#kernel/time.ts'
import { UpstreamError, type UpstreamFailure } from '../failure.ts'
import type { Login } from '../port.ts'
import type { Reach } from './consent.ts'
import type { KeptAccount } from './secret.ts'

/** A longer one is not kept. */
const longestMs = dayMs

/** Whose calls are counted together: of an account, over renewals. */
export const nameCalls = (
  { upstreamUserId }: Pick<Login, 'upstreamUserId'>,
  { id }: Pick<KeptAccount, 'id'>,
): string => hash('sha256', `${upstreamUserId} ${id}`)

function nameWait({ userId, ...login }: Login, account: KeptAccount) {
  const calls = nameCalls(login, account)
  const whose = { id: calls as LoginId, version: 0, secret: calls }
  const known = userId === undefined ? whose : { ...whose, userId }
  return { name: 'wait', login: known, maxAgeMs: longestMs }
}

/** What is no wait changes nothing. */
export async function keepWait(
  { readings, clock }: Reach,
  login: Login,
  account: KeptAccount,
  failure: UpstreamFailure,
): Promise<void> {
  if (failure.kind !== 'throttled') return
  const until = clock.now() + Math.min(failure.retryAfterSeconds * 1000, longestMs)
  await readings.keep(nameWait(login, account), Buffer.from(String(until)))
}

/** @throws UpstreamError `throttled` */
export async function demandNoWait(
  { readings, clock }: Reach,
  login: Login,
  account: KeptAccount,
): Promise<void> {
  const kept = await readings.peek(nameWait(login, account))
  const until = kept === null ? 0 : Number(Buffer.from(kept.body).toString('utf8'))
  const retryAfterSeconds = Math.ceil((until - clock.now()) / 1000)
  if (retryAfterSeconds <= 0) return
  const detail = `the bank allows no more calls now without its person; the next are allowed in ${Math.ceil(retryAfterSeconds / 3600)} h`
  // Nothing is sent, so this says nothing of the provider.
  const failure = { kind: 'throttled', retryAfterSeconds, detail, isOwnBudget: true } as const
  throw new UpstreamError('enablebanking', failure)
}
