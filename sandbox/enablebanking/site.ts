/** What all of the Enable Banking emulator shares: its people, sessions and applications, and its errors. */
import type { Clock } from '#kernel/time.ts'
import type { EmulatorReply } from '../emulator.ts'
import type { CallCounts } from './call-counts.ts'
import type { BankPeople } from './people.ts'
import type { Sessions } from './sessions.ts'
import type { KnownApplication } from './token.ts'

export interface Site {
  readonly people: BankPeople
  readonly clock: Clock
  readonly seed: string
  readonly sessions: Sessions
  readonly counts: CallCounts
  /** Tests may add to them and make one inactive. */
  readonly applications: (KnownApplication & { isActive?: boolean })[]
  /** Compared exactly; null: every address of this machine and every https one that ends as ours does. */
  redirectUrls: readonly string[] | null
  /** Rows of a page. */
  pageSize: number
  readonly base: () => string
}

export const refuse = (
  status: number,
  error: string,
  detail: unknown = null,
  message = error.toLowerCase().replaceAll('_', ' '),
): EmulatorReply => ({ status, body: { code: status, message, error, detail } })

export const findPerson = (
  { people }: Pick<Site, 'people'>,
  bank: { name: string; country: string },
) =>
  Object.values(people).find(
    (one) => one.bank.name === bank.name && one.bank.country === bank.country,
  )
