/**
 * An Up server on loopback: the real paths, tokens, pages, limits and errors, with people generated from a
 * seed and a clock. It contains no rule of Tributary's; the real adapter uses it in sandbox mode and in
 * tests.
 */
import type { Clock } from '#kernel/time.ts'
import { type Emulator, startEmulator } from '../emulator.ts'
import type { FaultControls } from '../fault-controls.ts'
import { makeDemoPeople } from './demo.ts'
import { makeFaultControls } from './fault-controls.ts'
import { makeHourlyLimit } from './hourly-limit.ts'
import type { UpPeople } from './people.ts'
import { answer } from './routes.ts'

export { toToken } from './people.ts'

export interface UpEmulatorOptions {
  /** The same seed and clock give the same rows. */
  readonly seed?: string
  readonly clock: Clock
  /** 0 or absent: any free port. */
  readonly port?: number
  /** The limit of each token; 1,000 when absent, as at Up. */
  readonly requestsPerHour?: number
}

export interface UpEmulator extends Emulator {
  /** What the adapter is given as base URL: the origin and `/api/v1`. */
  readonly baseUrl: string
  /** The people; tests may change them between requests. */
  readonly people: UpPeople
  /** The sandbox commands of this provider. */
  readonly faultControls: FaultControls
}

/** Starts the emulator; the caller closes it. */
export async function startUpEmulator(options: UpEmulatorOptions): Promise<UpEmulator> {
  const { clock, seed = 'tributary', requestsPerHour = 1000 } = options
  const people = makeDemoPeople(seed, clock)
  const limit = makeHourlyLimit(requestsPerHour, clock)
  let base = ''
  const site = { people, clock, limit, base: () => base }
  const emulator = await startEmulator((request) => answer(request, site), {
    port: options.port ?? 0,
    clock,
  })
  base = `${emulator.url}/api/v1`
  return Object.assign(emulator, {
    baseUrl: base,
    people,
    faultControls: makeFaultControls({ people, clock, seed }),
  })
}
