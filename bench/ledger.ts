/**
 * The ledger: what a sync of 1,000 rows costs between the rows and the commit, beside reading the same pages;
 * how long it holds up the event loop; and how many bytes a row takes on the disk.
 */
import { startChild } from './child.ts'
import type { Figure } from './figures.ts'
import { type Ground, onGrounds } from './ground.ts'

export interface LedgerSizes {
  /** Rounds before those that are counted: the compiler of a young process takes a fifth of the CPU time. */
  readonly warmUp: number
  readonly rounds: number
  /** Rows of the first syncs whose stalls are measured. */
  readonly rows: readonly number[]
  readonly accounts: number
  /** Rows that an account has in a month. */
  readonly rowsOfMonth: readonly number[]
}

export interface LedgerFacts {
  /** Of CPU, as the ratios. */
  readonly parseMs: number
  readonly readMs: number
  readonly ratios: readonly {
    readonly name: 'first' | 'usual'
    readonly ms: number
    readonly cpuMs: number
    readonly diffMs: number
    readonly toParse: number
    readonly toRead: number
  }[]
  /** Milliseconds by number of rows. */
  readonly stalls: Readonly<Record<number, number>>
  /** Bytes of a row by rows of a month. */
  readonly bytes: Readonly<Record<number, number>>
}

const usual: LedgerSizes = {
  warmUp: 60,
  rounds: 15,
  rows: [1000, 10_000],
  accounts: 500,
  rowsOfMonth: [20, 60, 200],
}
const goal = 2
const goalBytes = 30

export function measureLedger(sizes: LedgerSizes = usual): Promise<Figure[]> {
  return onGrounds((ground) => measureOn(ground, sizes))
}

async function measureOn({ place, title }: Ground, sizes: LedgerSizes): Promise<Figure[]> {
  const child = await startChild<LedgerFacts>('./ledger-process.ts', {
    args: [JSON.stringify(place), JSON.stringify(sizes)],
    isService: true,
  })
  await child.stop()
  const { facts } = child
  const plain = { bench: 'ledger', anchor: '', ratio: '', goal: '', met: null } as const
  return [
    ...facts.ratios.map(({ name, ms, cpuMs, diffMs, toParse, toRead }) => ({
      bench: 'ledger',
      what: `diff and commit of 1,000 rows, ${name === 'first' ? 'all new' : 'five new'}, ${title}`,
      figure: `${cpuMs.toFixed(1)} ms CPU (wall ${ms.toFixed(0)} ms, of it diff ${diffMs.toFixed(0)} ms)`,
      anchor: `${facts.parseMs.toFixed(1)} ms JSON.parse; ${facts.readMs.toFixed(1)} ms reading every row`,
      ratio: `${toParse.toFixed(2)}; ${toRead.toFixed(2)}`,
      goal: `≤ ${goal} of reading`,
      met: toRead <= goal,
    })),
    ...Object.entries(facts.stalls).map(([rows, stall]) => ({
      ...plain,
      what: `longest event-loop stall of a first sync of ${Number(rows).toLocaleString('en')} rows, ${title}`,
      figure: `${stall.toFixed(0)} ms`,
    })),
    ...Object.entries(facts.bytes).map(([rows, bytes]) => ({
      ...plain,
      what: `bytes of a row in the ledger, ${rows} rows per account and month, ${title}`,
      figure: bytes.toFixed(1),
      goal: `≤ ${goalBytes}`,
      met: bytes <= goalBytes,
    })),
  ]
}
