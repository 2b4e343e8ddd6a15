/**
 * What a run finds: compares every row with the ledger of its account, and keeps the texts of new and updated
 * rows until their events are made, within bounds of rows and bytes. Nothing is kept of known rows.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { AccountId } from '#kernel/ids.ts'
import type { LedgerMonth, MonthNumber } from '#store/ports/ledgers.ts'
import { type AccountLedger, openAccountLedger } from './account-ledger.ts'
import { SyncError } from './failure.ts'
import { makeFingerprints } from './fingerprints.ts'
import type { ReadRow } from './read-rows.ts'

/** What one run may report. A first sync of 90 days has some hundreds of rows. */
const maxRows = 50_000
const maxBytes = 32 * 1024 * 1024

export interface RowChanges {
  /** JSON texts of event objects, in the order in which the rows came. */
  readonly new: readonly string[]
  readonly updated: readonly string[]
  readonly months: readonly LedgerMonth[]
  readonly read: number
  readonly gone: number
  readonly returned: number
  readonly rounded: number
}

export interface NewsCollector {
  /** @throws SyncError `too_large` beyond the bounds. */
  take(row: ReadRow): void
  /**
   * Call it once. `readFrom`: see AccountLedger.close. `unread`: accounts that could not be read; their
   * ledgers are left as they were.
   */
  close(readFrom: MonthNumber, unread?: readonly AccountId[]): Promise<RowChanges>
}

export interface CollectorOptions {
  /** The key of the user's fingerprints. */
  readonly key: Uint8Array
  readonly accountIds: readonly AccountId[]
  readonly months: readonly LedgerMonth[]
  readonly contentVersion: number
  readonly limits?: { readonly rows: number; readonly bytes: number }
}

/** @throws LedgerFormatError */
export function collectNews(options: CollectorOptions): NewsCollector {
  const limits = options.limits ?? { rows: maxRows, bytes: maxBytes }
  const accounts = openAccounts(options)
  const texts = { new: [] as FoundText[], updated: [] as FoundText[] }
  let [read, rounded, bytes] = [0, 0, 0]

  function keep(kind: keyof typeof texts, { accountId, object }: ReadRow): void {
    const text = object.toText()
    texts[kind].push({ accountId, text })
    bytes += Buffer.byteLength(text)
    if (object.isRounded) rounded += 1
    if (texts.new.length + texts.updated.length > limits.rows || bytes > limits.bytes) {
      throw new SyncError('too_large', 'There are more new rows than one sync reports')
    }
  }

  return {
    take(row) {
      const account = accounts.get(row.accountId)
      if (account === undefined) throw new Error('a row is of an account that was not asked for')
      read += 1
      const { id, formerId, object } = row
      const { content, month } = object
      const sighting = account.meet({ id, formerId, content, month })
      if (sighting !== 'known') keep(sighting, row)
    },
    async close(readFrom, unread = []) {
      const changed: LedgerMonth[] = []
      let [gone, returned] = [0, 0]
      for (const id of unread) accounts.delete(id)
      const told = (found: readonly FoundText[]) =>
        found.filter(({ accountId }) => accounts.has(accountId)).map(({ text }) => text)
      for (const account of accounts.values()) {
        const changes = account.close(readFrom)
        gone += changes.gone
        returned += changes.returned
        for (const month of changes.months) {
          changed.push(month)
          // A month of thousands of rows takes milliseconds.
          await nextTurn()
        }
      }
      const news = { new: told(texts.new), updated: told(texts.updated) }
      return { ...news, read, rounded, months: changed, gone, returned }
    },
  }
}

interface FoundText {
  readonly accountId: AccountId
  readonly text: string
}

function openAccounts({ key, accountIds, months, contentVersion }: CollectorOptions) {
  const byAccount = Map.groupBy(months, ({ accountId }) => accountId)
  return new Map<AccountId, AccountLedger>(
    accountIds.map((accountId) => {
      const prints = makeFingerprints(key, accountId)
      const own = byAccount.get(accountId) ?? []
      return [accountId, openAccountLedger({ accountId, prints, months: own, contentVersion })]
    }),
  )
}
