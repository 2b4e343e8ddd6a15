/**
 * Enable Banking on loopback: tokens of applications, banks by country, consent, sessions, and the habits of
 * banks, with people generated from a seed and a clock. It contains no rule of Tributary's; the real adapter
 * uses it in sandbox mode and in tests.
 */
import { hash } from 'node:crypto'
import type { Clock } from '#kernel/time.ts'
import { type Emulator, startEmulator } from '../emulator.ts'
import type { FaultControls } from '../fault-controls.ts'
import { demoApplication, personalApplication } from './applications.ts'
import { makeCallCounts } from './call-counts.ts'
import { makeDemoPeople } from './demo.ts'
import { makeFaultControls } from './fault-controls.ts'
import type { BankPeople, BankPerson } from './people.ts'
import { answer } from './routes.ts'
import { makeSessions } from './sessions.ts'
import type { Site } from './site.ts'

export { demoApplication, personalApplication } from './applications.ts'
export { toSessionId } from './people.ts'

export interface EnableBankingEmulatorOptions {
  /** The same seed and clock give the same rows. */
  readonly seed?: string
  readonly clock: Clock
  /** 0 or absent: any free port. */
  readonly port?: number
  /** The limit of each account while its person is absent; 4 when not given. */
  readonly callsPerDay?: number
}

export interface EnableBankingEmulator extends Emulator {
  /** The people; tests may change them between requests. */
  readonly people: BankPeople
  /** What else tests may change. */
  readonly site: Site
  /** The sandbox commands of this provider. */
  readonly faultControls: FaultControls
}

/** Starts the emulator; the caller closes it. */
export async function startEnableBankingEmulator(
  options: EnableBankingEmulatorOptions,
): Promise<EnableBankingEmulator> {
  const { clock, seed = 'tributary', callsPerDay = 4 } = options
  const people = makeDemoPeople(seed, clock)
  let url = ''
  const site: Site = {
    ...{ people, clock, seed },
    sessions: makeSessions(clock),
    counts: makeCallCounts(callsPerDay, clock),
    applications: [{ ...demoApplication }, { ...personalApplication }],
    redirectUrls: null,
    pageSize: 10,
    base: () => url,
  }
  const emulator = await startEmulator((request) => answer(request, site), {
    port: options.port ?? 0,
    clock,
  })
  url = emulator.url
  const faultControls = makeFaultControls({ people, clock, seed, nameLogin })
  return Object.assign(emulator, { people, site, faultControls })
}

/** As a client may tell logins apart: the application and the bank. */
const nameLogin = (applicationId: string, { bank }: BankPerson): string =>
  hash('sha256', JSON.stringify([applicationId, bank.country, bank.name, 'personal']))
