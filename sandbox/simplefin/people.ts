/**
 * The people of the SimpleFIN emulator as plain, mutable data: tests and the sandbox commands add rows, end
 * an access or give ids anew by changing it. Who is in it is decided in `demo.ts`.
 */
import { hash } from 'node:crypto'
import { getZone, toMicros } from '#kernel/time.ts'
import type { RowFaults } from '../row-faults.ts'

export interface SimplefinRow {
  id: string
  /** Milliseconds since the epoch; banks write a day as noon of UTC. */
  postedAt: number
  /** Pending until then; absent: it was never pending. */
  settlesAt?: number
  /** Hidden before; absent: seen as soon as it is there. */
  seenAt?: number
  /** A pending row is sent with `pending: true`, or with `posted: 0` alone. */
  pendingForm?: 'mark' | 'zero'
  transactedAt?: number
  /** Exact text. */
  amount: string
  description: string
  payee?: string
  memo?: string
  mcc?: string | null
}

export interface SimplefinAccount {
  id: string
  name: string
  /** A code, or an address that describes points. */
  currency: string
  /** Exact text; the balance before the first row. */
  opening: string
  /** Exact text; absent: not sent. */
  available?: string
  /** In no particular order. */
  rows: SimplefinRow[]
  holdings?: readonly object[]
  /** `act.…`, sent with every answer. */
  trouble?: string
  /** What is sent in place of the balance. */
  balanceText?: string
  /** Milliseconds since the epoch; absent: noon of the day, or of the day before until noon. */
  balanceAt?: number
}

export interface SimplefinConnection {
  connId: string
  orgId: string
  orgName: string
  name: string
  accounts: SimplefinAccount[]
  /** `con.…`, sent with every answer. */
  trouble?: string
  /** The server lists it no more. */
  isGone?: boolean
}

export interface SimplefinPerson extends RowFaults {
  /** The user name of the access URL. */
  readonly user: string
  /** Null once the access was disabled: every read answers 403. */
  password: string | null
  connections: SimplefinConnection[]
  /** `gen.…`, sent with every answer. */
  trouble?: string
  /** How often their rows were sent; each time they get new ids. Absent: rows keep their ids. */
  readings?: number
  /** The subscription has ended: 402. */
  isUnpaid?: boolean
}

export type SimplefinPeople = Record<string, SimplefinPerson>

/** Ids in the form of the Bridge: the same for the same name, unlike any other. */
export function toId(kind: 'ACT' | 'CON' | 'TRN', name: string): string {
  const digits = hash('sha256', `${kind} ${name}`)
  const parts = [digits.slice(0, 8), digits.slice(8, 12), digits.slice(12, 16)]
  return [kind, ...parts, digits.slice(16, 20), digits.slice(20, 32)].join('-')
}

/** The user name of a person's access URL: the same at every start. */
export const toUser = (name: string): string => hash('sha256', `user ${name}`).slice(0, 32)
export const toPassword = (name: string): string => hash('sha256', `password ${name}`).slice(0, 32)

/** @param baseUrl the origin of the emulator with the path of the protocol. */
export function toAccessUrl(baseUrl: string, name: string): string {
  return `${baseUrl.replace('://', `://${toUser(name)}:${toPassword(name)}@`)}`
}

/** A setup token of the person: base64 of its claim URL. Each number works once. */
export function toSetupToken(baseUrl: string, name: string, number = 1): string {
  return Buffer.from(`${baseUrl}/claim/${name}-${number}`).toString('base64')
}

export const utc = getZone('UTC')
export const dayMs = 86_400_000
/** Noon of a day of UTC. */
export const noonOf = (day: string): number => utc.startOfDay(day) / 1000 + dayMs / 2
export const dayOf = (ms: number): string => utc.dayOf(toMicros(ms))

export const isPendingAt = ({ settlesAt }: SimplefinRow, now: number): boolean =>
  settlesAt !== undefined && now < settlesAt
