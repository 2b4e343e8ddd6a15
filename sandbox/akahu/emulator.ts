/**
 * An Akahu of one's own on loopback: the real paths, credentials, pages and errors over people that are made up from a
 * seed and a clock. It holds no rule of Tributary's; the real adapter is pointed at it in sandbox mode and in tests.
 */
import type { Clock } from '#kernel/time.ts'
import { type Emulator, startEmulator } from '../emulator.ts'
import type { Levers } from '../levers.ts'
import type { AkahuApp } from './auth.ts'
import { demoApp, makeDemoPeople } from './demo.ts'
import { makeLevers } from './levers.ts'
import type { AkahuPeople } from './people.ts'
import { answer } from './routes.ts'
import { makeTokenDesk } from './tokens.ts'

export { demoApp, demoUserTokens } from './demo.ts'
export { toUserToken } from './making.ts'

export interface AkahuEmulatorOptions {
  /** The same seed and clock give the same rows. */
  readonly seed?: string
  readonly clock: Clock
  /** 0 or absent: any free port. */
  readonly port?: number
  readonly credentials?: AkahuApp
}

export interface AkahuEmulator extends Emulator {
  /** What the adapter is given as base URL: the origin and `/v1`. */
  readonly baseUrl: string
  /** Who lives here; change it at will between requests. */
  readonly people: AkahuPeople
  /** The code that a person's consent would send to the redirect URI; good once, for a minute. */
  issueCode(name: string, redirectUri: string): string
  /** What the sandbox commands do here. */
  readonly levers: Levers
}

/** Starts the emulator; the caller closes it. */
export async function startAkahuEmulator(options: AkahuEmulatorOptions): Promise<AkahuEmulator> {
  const { clock, seed = 'tributary', credentials: app = demoApp } = options
  const people = makeDemoPeople(seed, clock)
  const tokens = makeTokenDesk(app, clock)
  const site = { app, people, tokens, clock }
  const emulator = await startEmulator((request) => answer(request, site), {
    port: options.port ?? 0,
    clock: options.clock,
  })
  return Object.assign(emulator, {
    baseUrl: `${emulator.url}/v1`,
    people,
    levers: makeLevers({ people, clock, seed }),
    issueCode(name: string, redirectUri: string): string {
      const person = people[name]
      if (person === undefined) throw new Error(`nobody here is called ${name}`)
      return tokens.issue(person, redirectUri)
    },
  })
}
