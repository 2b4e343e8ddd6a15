/**
 * A SimpleFIN server on loopback: claims, account sets in both versions, windows, limits and errors by code,
 * with people generated from a seed and a clock. It contains no rule of Tributary's; the real adapter uses it
 * in sandbox mode and in tests.
 */
import type { Clock } from '#kernel/time.ts'
import { type Emulator, startEmulator } from '../emulator.ts'
import type { FaultControls } from '../fault-controls.ts'
import { makeDemoPeople } from './demo.ts'
import { makeFaultControls } from './fault-controls.ts'
import type { SimplefinPeople } from './people.ts'
import { makeQuota } from './quota.ts'
import { answer, prefix } from './routes.ts'

export { toAccessUrl, toSetupToken } from './people.ts'

export interface SimplefinEmulatorOptions {
  /** The same seed and clock give the same rows. */
  readonly seed?: string
  readonly clock: Clock
  /** 0 or absent: any free port. */
  readonly port?: number
  /** The limit of each access; 24 when absent, as at the Bridge. */
  readonly requestsPerDay?: number
}

export interface SimplefinEmulator extends Emulator {
  /** The root of the protocol: the origin and `/simplefin`. */
  readonly baseUrl: string
  /** The people; tests may change them between requests. */
  readonly people: SimplefinPeople
  /** The sandbox commands of this provider. */
  readonly faultControls: FaultControls
}

/** Starts the emulator; the caller closes it. */
export async function startSimplefinEmulator(
  options: SimplefinEmulatorOptions,
): Promise<SimplefinEmulator> {
  const { clock, seed = 'tributary', requestsPerDay = 24 } = options
  const people = makeDemoPeople(seed, clock)
  let baseUrl = ''
  const base = () => baseUrl
  const quota = makeQuota(requestsPerDay, clock)
  const site = { people, clock, quota, base, claimed: new Set<string>() }
  const emulator = await startEmulator((request) => answer(request, site), {
    port: options.port ?? 0,
    clock,
  })
  baseUrl = `${emulator.url}${prefix}`
  const faultControls = makeFaultControls({ people, clock, seed, base })
  return Object.assign(emulator, { baseUrl, people, faultControls })
}
