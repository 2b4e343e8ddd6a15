/**
 * Two banks of one person whose rows change between the rounds. Every row remembers how many versions it has
 * had, so that every report of it can be judged; the version is in its description and in its amount.
 */
import assert from 'node:assert/strict'
import { institutions, type SandboxAccount } from '#sandbox/fiskil/world.ts'
import type { Random } from '#sandbox/seed.ts'
import type { Sandbox } from '#sandbox/start.ts'

export interface BankRow {
  readonly id: string
  /** Which bank it is of: 0 or 1. */
  readonly bank: number
  /** The present one; the first is 1. */
  version: number
  /** False: the bank no longer shows it. */
  isThere: boolean
  /** Versions that a completed sync has read: all of them must have been reported. */
  readonly owed: Set<number>
}

export interface Bank {
  readonly rows: readonly BankRow[]
  /** Some are added, changed or removed; sometimes more come than one event holds. */
  change(): void
  /** A sync of this bank has succeeded: whatever it shows now was read. */
  owe(bank: number): void
  /** Of the banks in their order, as connections name them. */
  readonly names: readonly string[]
}

interface Column {
  readonly account: SandboxAccount
  readonly ids: Readonly<Record<string, string>>
  readonly bank: number
  readonly rows: { readonly row: BankRow; readonly at: string }[]
}

const dayMs = 86_400_000
/**
 * Rows lie within the look-back for as long as a run lasts, and stay in the past when the clock is set back
 * by days.
 */
const ageDays = { min: 4, max: 40 }

export function makeBank(sandbox: Sandbox, random: Random, nowMs: () => number): Bank {
  const { consents } = sandbox.fiskil.people.healthy
  const columns = consents.map((consent, bank): Column => {
    for (const account of consent.accounts) {
      account.grownThrough = 1_000_000
      account.rows = []
    }
    const account = consent.accounts[0] ?? assert.fail('a bank without accounts')
    const ids = {
      account_id: account.body.account_id,
      arrangement_id: consent.arrangementId,
      institution_id: consent.institutionId,
    }
    return { account, ids, bank, rows: [] }
  })
  const rows: BankRow[] = []

  function add(column: Column): void {
    const id = `row-${column.bank}-${rows.length}`
    const at = new Date(
      nowMs() - random.int(ageDays.min * dayMs, ageDays.max * dayMs),
    ).toISOString()
    const row = { id, bank: column.bank, version: 1, isThere: true, owed: new Set<number>() }
    rows.push(row)
    column.rows.push({ row, at })
  }

  /** The emulator's rows are replaced at once: no reading sees half a change. */
  function show(column: Column): void {
    column.account.rows = column.rows
      .filter(({ row }) => row.isThere)
      .map(({ row, at }) => toUpstream(column, row, at))
      .toSorted((one, other) => other.postsAtMs - one.postsAtMs)
  }

  function change(): void {
    for (const column of columns) {
      const added = random.next() < 0.1 ? random.int(101, 230) : random.int(0, 3)
      for (let count = 0; count < added; count += 1) add(column)
      for (let count = random.int(0, 4); count > 0 && column.rows.length > 0; count -= 1) {
        const { row } = random.pick(column.rows)
        const drawn = random.next()
        if (drawn < 0.2) row.isThere = !row.isThere
        else row.version += 1
      }
      show(column)
    }
  }

  for (const column of columns) {
    for (let count = 0; count < 130; count += 1) add(column)
    show(column)
  }
  return {
    rows,
    change,
    owe(bank) {
      for (const row of rows) if (row.bank === bank && row.isThere) row.owed.add(row.version)
    },
    names: consents.map(
      ({ institutionId }) =>
        institutions.find(({ id }) => id === institutionId)?.name ?? assert.fail('no such bank'),
    ),
  }
}

function toUpstream(column: Column, row: BankRow, at: string): SandboxAccount['rows'][number] {
  return {
    seenFromMs: 0,
    postsAtMs: Date.parse(at),
    body: {
      ...column.ids,
      fiskil_id: row.id,
      status: 'POSTED',
      posting_date_time: at,
      description: `${row.id} version ${row.version}`,
      amount: `-${row.version}.00`,
      currency: 'AUD',
    },
  }
}
