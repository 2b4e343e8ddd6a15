/**
 * The balances of all accounts of a person, as far as they can be read: of banks by one request for each
 * provider, of brokers as the sum of the positions of each connection. A failure is that of its accounts.
 */
import { ApiError } from '#contract/errors.ts'
import { listBalances, listHoldings } from '#contract/operations.ts'
import type { Balance, Holding } from '#contract/resources.ts'
import type { Decimal } from '#kernel/decimal.ts'
import type { AccountId, ConnectionId } from '#kernel/ids.ts'
import { factsOf } from '#providers/all-facts.ts'
import { readHoldingsByAccount } from '#resources/holdings-by-account.ts'
import type { AccountRow } from '#store/ports/accounts.ts'
import type { Asked, OwnReads } from './own-reads.ts'
import { sumWorth, type Worth } from './sums.ts'

export type Money =
  | {
      readonly kind: 'bank'
      readonly current: Decimal
      readonly available: Decimal | null
      readonly currency: string
    }
  | { readonly kind: 'broker'; readonly worth: readonly Worth[] }
  /** The provider gave none for this account. */
  | { readonly kind: 'untold' }
  | { readonly kind: 'failed'; readonly error: ApiError }

export interface BalancesReading {
  readonly money: ReadonlyMap<AccountId, Money>
  /** The requests that were made. */
  readonly asked: readonly Asked[]
}

/** Bound of `/v1/balances`. */
const maxAccounts = 100
/** Requests at once. */
const atOnce = 3

interface Group {
  readonly asked: Asked
  readonly accounts: readonly AccountRow[]
  read(): Promise<(account: AccountRow) => Money>
}

type ListKnown = (connectionId: ConnectionId) => Promise<readonly { readonly id: AccountId }[]>

/** @param listKnown a connection's accounts, as they are stored when it is called. */
export async function readBalances(
  reads: OwnReads,
  accounts: readonly AccountRow[],
  listKnown: ListKnown,
): Promise<BalancesReading> {
  const isBank = ({ provider }: AccountRow) => factsOf(provider).category === 'banking'
  const banks = Map.groupBy(accounts.filter(isBank), ({ provider }) => provider)
  const brokers = Map.groupBy(
    accounts.filter((account) => !isBank(account)),
    ({ connectionId }) => connectionId,
  )
  const groups = [
    ...[...banks.values()].flatMap((of) => toChunks(of).map((chunk) => toBank(reads, chunk))),
    ...[...brokers].map(([id, of]) => toBroker(reads, of, () => listKnown(id))),
  ]
  const money = new Map<AccountId, Money>()
  const waiting = groups.values()
  const work = async () => {
    for (const { accounts: of, read } of waiting) {
      const moneyOf = await read().catch(toFailed)
      for (const account of of) money.set(account.id, moneyOf(account))
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  return { money, asked: groups.map(({ asked }) => asked) }
}

/** @throws anything but an ApiError. */
export function toFailed(error: unknown): () => Money {
  if (!(error instanceof ApiError)) throw error
  return () => ({ kind: 'failed', error })
}

/** In the order of the ids: every visit is the same request, and one cached answer serves it. */
function toChunks(accounts: readonly AccountRow[]): readonly (readonly AccountRow[])[] {
  const sorted = accounts.toSorted((one, other) => (one.id < other.id ? -1 : 1))
  const chunks = []
  for (let from = 0; from < sorted.length; from += maxAccounts) {
    chunks.push(sorted.slice(from, from + maxAccounts))
  }
  return chunks
}

function toBank(reads: OwnReads, accounts: readonly AccountRow[]): Group {
  const accountIds = accounts.map(({ id }) => id).join(',')
  const asked = { operation: listBalances, query: { accountIds } }
  return {
    asked,
    accounts,
    async read() {
      const { body } = await reads.ask<{ data: Balance[] }>(asked)
      const byId = new Map(body.data.map((balance) => [balance.accountId, balance]))
      return ({ id, currency: known }) => {
        const balance = byId.get(id)
        if (balance === undefined || balance.currentBalance === null) return { kind: 'untold' }
        const { currentBalance: current, availableBalance: available, currency } = balance
        return { kind: 'bank', current, available, currency: currency ?? known }
      }
    },
  }
}

/** @param accounts of one connection. */
function toBroker(
  reads: OwnReads,
  accounts: readonly AccountRow[],
  listKnown: () => ReturnType<ListKnown>,
): Group {
  const connectionId = accounts[0]?.connectionId ?? ''
  const asked = { operation: listHoldings, query: { connectionId } }
  return {
    asked,
    accounts,
    async read() {
      const ids = accounts.map(({ id }) => id)
      const found = await readHoldingsByAccount(ids, {
        async ask(accountId) {
          const one = { ...asked, query: { ...asked.query, accountId } }
          return (await reads.ask<{ data: Holding[] }>(one, accountId === null)).body.data
        },
        listKnown: async () => (await listKnown()).map(({ id }) => id),
      })
      return ({ id }) => {
        const read = found.get(id)
        if (read === undefined) return { kind: 'untold' }
        if (read.kind === 'failed') return toFailed(read.error)()
        return { kind: 'broker', worth: sumWorth(read.holdings) }
      }
    },
  }
}
