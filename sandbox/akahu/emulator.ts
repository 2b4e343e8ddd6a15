/**
 * An Akahu server on loopback: the real paths, credentials, pages and errors, with people generated from a
 * seed and a clock. It contains no rule of Tributary's; the real adapter uses it in sandbox mode and in
 * tests.
 */
import type { Clock } from '#kernel/time.ts'
import { type SendingEmulator, startEmulator, withWebhooks } from '../emulator.ts'
import type { SendingFaultControls } from '../fault-controls.ts'
import type { AkahuApp } from './auth.ts'
import { authorisationPath } from './authorise.ts'
import { type AkahuPeople, demoApp, makeDemoPeople } from './demo.ts'
import { makeFaultControls } from './fault-controls.ts'
import { answer } from './routes.ts'
import { makeTokenExchange } from './tokens.ts'
import { makeWebhooks } from './webhooks.ts'

export { demoApp, demoUserTokens } from './demo.ts'
export { toUserToken } from './factories.ts'
export { toPersonalTokens } from './personal-app.ts'

export interface AkahuEmulatorOptions {
  /** The same seed and clock give the same rows. */
  readonly seed?: string
  readonly clock: Clock
  /** 0 or absent: any free port. */
  readonly port?: number
  readonly credentials?: AkahuApp
}

export interface AkahuEmulator extends SendingEmulator {
  /** What the adapter is given as base URL: the origin and `/v1`. */
  readonly baseUrl: string
  /** The authorisation page. */
  readonly oauthUrl: string
  /** The people; tests may change them between requests. */
  readonly people: AkahuPeople
  /** The code that a person's consent would send to the redirect URI; valid once, for a minute. */
  issueCode(name: string, redirectUri: string): string
  /** The sandbox commands of this provider. */
  readonly faultControls: SendingFaultControls
}

/** Starts the emulator; the caller closes it. */
export async function startAkahuEmulator(options: AkahuEmulatorOptions): Promise<AkahuEmulator> {
  const { clock, seed = 'tributary', credentials: app = demoApp } = options
  const people = makeDemoPeople(seed, clock)
  const tokens = makeTokenExchange(app, clock)
  const webhooks = makeWebhooks(clock)
  const site = { app, people, tokens, clock, webhooks, seed }
  const plain = await startEmulator((request) => answer(request, site), {
    port: options.port ?? 0,
    clock: options.clock,
  })
  const emulator = withWebhooks(plain, webhooks.sender)
  return Object.assign(emulator, {
    baseUrl: `${emulator.url}/v1`,
    oauthUrl: `${emulator.url}${authorisationPath}`,
    people,
    faultControls: makeFaultControls({ people, clock, seed, webhooks }),
    issueCode(name: string, redirectUri: string): string {
      const person = people[name]
      if (person === undefined) throw new Error(`nobody here is called ${name}`)
      return tokens.issue(person, redirectUri)
    },
  })
}
