/**
 * A user with one bank account whose rows the test writes itself, at Fiskil or at Akahu. It plants rows at
 * the emulators and asks through the front door; it knows nothing of how they are read.
 */
import assert from 'node:assert/strict'
import type { AkahuRow } from '#sandbox/akahu/people.ts'
import type { FiskilSandboxRow } from '#sandbox/fiskil/index.ts'
import type { AccountRow } from '#store/ports/accounts.ts'
import type { Answer, Service, ServiceUser } from '#tests/support/service.ts'

export interface BankUser {
  readonly user: ServiceUser
  readonly account: AccountRow
  /** The account's transactions; `query` begins with "&" or is empty. */
  ask(query?: string): Promise<Answer>
  /** The whole connection's. */
  askAll(query?: string): Promise<Answer>
}

/** A user in this zone (null: none set) who has linked the person's account of this name. */
export async function makeBankUser(
  service: Service,
  options: {
    readonly provider: 'fiskil' | 'akahu'
    readonly name: string
    readonly person?: 'healthy' | 'history'
    readonly timezone?: string | null
  },
): Promise<BankUser> {
  const user = await service.createUser({ timezone: options.timezone ?? null })
  await service.link(user, options.person ?? 'healthy', options.provider)
  const rows = await service.accounts(user)
  const account = rows.find((row) => row.name === options.name)
  assert(account !== undefined, `no account is called ${options.name}`)
  const base = `/v1/transactions?connectionId=${account.connectionId}`
  return {
    user,
    account,
    ask: (query = '') => service.get(`${base}&accountId=${account.id}${query}`, user),
    askAll: (query = '') => service.get(`${base}${query}`, user),
  }
}

/** A posted row of Fiskil; `body` is laid over it. */
export function fiskilRow(
  id: string,
  postedAt: string,
  body: Readonly<Record<string, unknown>> = {},
): FiskilSandboxRow {
  return {
    seenFromMs: 0,
    postsAtMs: Date.parse(postedAt),
    body: {
      fiskil_id: id,
      status: 'POSTED',
      posting_date_time: postedAt,
      description: id,
      amount: '-1.00',
      currency: 'AUD',
      ...body,
    },
  }
}

/** Gives an account of the healthy person at Fiskil these rows, newest first, and no others ever. */
export function plantFiskil(
  service: Service,
  displayName: string,
  rows: readonly FiskilSandboxRow[],
): void {
  for (const consent of service.sandbox.fiskil.people.healthy.consents) {
    for (const account of consent.accounts) {
      if (account.body.display_name !== displayName) continue
      account.grownThrough = 1_000_000
      const ids = {
        account_id: account.body.account_id,
        arrangement_id: consent.arrangementId,
        institution_id: consent.institutionId,
      }
      account.rows = rows.map((row) => ({ ...row, body: { ...ids, ...row.body } }))
      return
    }
  }
  assert.fail(`no account is called ${displayName}`)
}

/** A row of Akahu; `date` as Akahu writes it, e.g. `2026-09-26T12:00:00.000Z`. */
export function akahuRow(id: string, date: string, fields: Partial<AkahuRow> = {}): AkahuRow {
  return {
    _id: `trans_${id}`,
    created_at: date,
    updated_at: date,
    date,
    description: id,
    amount: '-1',
    type: 'EFTPOS',
    ...fields,
  }
}

/** Gives an account of the healthy person at Akahu these rows and no others ever. */
export function plantAkahu(service: Service, name: string, rows: readonly AkahuRow[]): void {
  const account = service.sandbox.akahu.people.healthy.accounts.find((one) => one.name === name)
  assert(account !== undefined, `no account is called ${name}`)
  if (account.growth !== undefined) account.growth.through = '9999-12-31'
  account.rows = [...rows]
}

/** What the rows of an answer are called, in their order. */
export const namesOf = (answer: Answer): readonly string[] =>
  answer.body.data.map((row: { description: string }) => row.description)
