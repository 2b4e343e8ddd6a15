/**
 * What a bank is asked about one account: its balances, and its rows to the end. A bank allows about four
 * calls a day without its person, so each reading is kept and serves everything for six hours (reading R36).
 * Later calls of a walk are part of the first one. Its failure keeps nothing.
 */
import { hourMs, type Millis } from '#kernel/time.ts'
import { UpstreamError } from '../failure.ts'
import type { Login } from '../port.ts'
import { type Asked, askBank } from './ask-bank.ts'
import { applicationOf, type Reach } from './consent.ts'
import { readHistory } from './history.ts'
import { packRows } from './kept-rows.ts'
import { type KeptAccount, sessionOf } from './secret.ts'
import { BalancesBody, readBody, type WireBalance } from './wire.ts'

/** R36. */
export const readingLifeMs = 6 * hourMs
export interface Timed<Value> {
  readonly value: Value
  readonly readAt: Millis
}

/** @throws UpstreamError `account_gone` for an account that the session does not have. */
export function keptAccountOf(login: Login, upstreamId: string): KeptAccount {
  const { session } = sessionOf(login)
  const found = session.accounts.find(({ id }) => id === upstreamId)
  if (found !== undefined) return found
  const detail = 'the consent does not have this account any more'
  throw new UpstreamError('enablebanking', { kind: 'account_gone', detail })
}

export async function readBalances(asked: Asked): Promise<Timed<readonly WireBalance[]>> {
  const { reach, login, account, call } = asked
  const { body, readAt } = await reach.readings.get({
    ...nameBalances(login, account),
    call,
    read: (own) =>
      askBank({ ...asked, call: own }, async (uid, headers) => {
        const target = `/accounts/${encodeURIComponent(uid)}/balances`
        const request = {
          method: 'GET',
          route: '/accounts/{id}/balances',
          target,
          headers,
          isCountedByDay: true,
        } as const
        const bytes = await reach.client.send(applicationOf(reach, login), request, own)
        readBody(BalancesBody, bytes)
        return bytes
      }),
  })
  return { value: readBody(BalancesBody, body).balances, readAt }
}

/** The bytes of `kept-rows.ts`. */
export async function readRows(asked: Asked): Promise<Timed<Uint8Array>> {
  const { reach, login, account, call } = asked
  const { body, readAt } = await reach.readings.get({
    ...nameRows(login, account),
    call,
    read: async (own) => packRows(await readHistory({ ...asked, call: own })),
  })
  return { value: body, readAt }
}

/** What is kept of the balances, without a call. */
export async function peekBalances(
  { readings }: Reach,
  login: Login,
  account: KeptAccount,
): Promise<readonly WireBalance[] | null> {
  const found = await readings.peek(nameBalances(login, account))
  return found === null ? null : readBody(BalancesBody, found.body).balances
}

/** What is kept of the rows, without a call: bytes of `kept-rows.ts`. */
export async function peekRows(
  { readings }: Reach,
  login: Login,
  account: KeptAccount,
): Promise<Uint8Array | null> {
  return (await readings.peek(nameRows(login, account)))?.body ?? null
}

/** When data of the account were last read; null: nothing is kept. */
export async function findReadAt(
  { readings }: Reach,
  login: Login,
  account: KeptAccount,
): Promise<Millis | null> {
  const found = await readings.peek(nameBalances(login, account))
  return (found ?? (await readings.peek(nameRows(login, account))))?.readAt ?? null
}

const nameBalances = (login: Login, { id }: KeptAccount) => {
  return { name: `balances:${id}`, login, maxAgeMs: readingLifeMs }
}
/** The number changes with what `kept-rows.ts` writes: processes of two versions may share readings. */
const nameRows = (login: Login, { id }: KeptAccount) => {
  return { name: `rows:3:${id}`, login, maxAgeMs: readingLifeMs }
}
