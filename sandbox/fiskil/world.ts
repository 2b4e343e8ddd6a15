/**
 * The data behind the Fiskil emulator: end users, their consents, accounts and rows, as plain data that tests
 * and sandbox commands may change at any time. It knows neither HTTP nor how rows are generated.
 */
import { dayMs } from '#kernel/time.ts'
import type { EmulatorReply } from '../emulator.ts'
import type { RowFaults } from '../row-faults.ts'

/**
 * One transaction. It is invisible before `seenFromMs`, pending until `postsAtMs`, posted afterwards. `body`
 * is the posted form exactly as it is sent, so that a test may break any field of it.
 */
export interface SandboxRow {
  seenFromMs: number
  postsAtMs: number
  body: Record<string, unknown>
}

export interface SandboxAccount {
  /** As sent by `GET /v1/banking/accounts`, without the ids of consent and institution. */
  body: Record<string, unknown> & { account_id: string; fiskil_id: string }
  /** As sent by `GET /v1/banking/balances`; null: the bank has sent none. */
  balance: Record<string, unknown> | null
  /** Newest first; rows of equal time keep their order. */
  rows: SandboxRow[]
  /** Generates the rows of one UTC day (days since the epoch); absent: no new rows are generated. */
  readonly grow?: (day: number) => SandboxRow[]
  /** The last generated day. */
  grownThrough: number
}

export interface SandboxConsent {
  arrangementId: string
  institutionId: string
  active: boolean
  createdAtMs: number
  expiresAtMs: number
  terminationReason: string
  permissions: string[]
  /** False: the consent is fresh and the bank's accounts have not arrived yet. */
  synced: boolean
  accounts: SandboxAccount[]
}

export interface SandboxPerson extends RowFaults {
  endUserId: string
  email: string
  name: string
  /** Deleted at Fiskil: the id is unknown, lists about it are empty. */
  deleted: boolean
  /** Added to the time of every answer about this person. */
  latencyMs: number
  /** What every data request about this person gets instead of data: a refusal, an outage, a limit. */
  failure: EmulatorReply | null
  consents: SandboxConsent[]
}

export interface SandboxInstitution {
  id: string
  name: string
  logo: string
  industry: 'banking' | 'energy'
  /** The state of connections to it. */
  health: 'HEALTHY' | 'DEGRADED' | 'OUTAGE'
  /** False: listed, but it takes no consents now. */
  isAccessible?: false
}

const maxGrowthDays = 4_000

export const institutions: readonly SandboxInstitution[] = [
  bank('88888', 'Banking Sandbox Data Holder'),
  { ...bank('22', 'Wattle Bank'), logo: 'https://cdn.sandbox.example/wattle-bank.png' },
  {
    ...bank('41', 'Southern Cross Mutual'),
    logo: 'https://cdn.sandbox.example/southern-cross.png',
  },
  bank('73', 'Coolamon Credit Union'),
  { ...bank('58', 'Quandong Bank'), health: 'DEGRADED' },
  { ...bank('61', 'Kurrajong Bank'), health: 'OUTAGE' },
  { ...bank('91', 'Lilly Pilly Bank'), isAccessible: false },
  { ...bank('305', 'Banksia Energy'), industry: 'energy' },
]

function bank(id: string, name: string): SandboxInstitution {
  return { id, name, logo: '', industry: 'banking', health: 'HEALTHY' }
}

/** Whether a person can consent to it. */
export function isAccessible({ industry, isAccessible: open }: SandboxInstitution): boolean {
  return industry === 'banking' && open !== false
}

/** The days since the epoch, in UTC. */
export function dayNumber(ms: number): number {
  return Math.floor(ms / dayMs)
}

/** Generates the days that have passed since the last use of the account. */
export function growAccount(account: SandboxAccount, nowMs: number): void {
  if (account.grow === undefined) return
  const today = dayNumber(nowMs)
  const first = Math.max(account.grownThrough + 1, today - maxGrowthDays)
  if (first > today) return
  const fresh: SandboxRow[] = []
  for (let day = first; day <= today; day += 1) fresh.push(...account.grow(day))
  account.rows = [...account.rows, ...fresh].sort((a, b) => b.postsAtMs - a.postsAtMs)
  account.grownThrough = today
}

/** True while this consent gives access to data. */
export function isLive(consent: SandboxConsent, nowMs: number): boolean {
  return consent.active && consent.expiresAtMs > nowMs
}

/** Puts a row at its place in the account. */
export function addRow(account: SandboxAccount, row: SandboxRow): void {
  const before = account.rows.findIndex((other) => other.postsAtMs <= row.postsAtMs)
  account.rows.splice(before === -1 ? account.rows.length : before, 0, row)
}
