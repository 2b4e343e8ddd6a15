/**
 * The whole sandbox: the three emulators on loopback, with the access that points the real adapters at them and the
 * people whose consents can be adopted. The path that runs in the demo is the path that runs in production.
 */
import type { Clock } from '#kernel/time.ts'
import type { ProviderAccess } from '#providers/adapters.ts'
import type { Credentials } from '#providers/port.ts'
import {
  type AkahuEmulator,
  demoApp,
  demoUserTokens,
  startAkahuEmulator,
} from './akahu/emulator.ts'
import { type FiskilEmulator, fiskilDemoCredentials, startFiskilEmulator } from './fiskil/index.ts'
import {
  demoCredentials,
  demoPeople,
  type SnapTradeEmulator,
  startSnapTradeEmulator,
} from './snaptrade/index.ts'

export interface Sandbox {
  readonly fiskil: FiskilEmulator
  readonly akahu: AkahuEmulator
  readonly snaptrade: SnapTradeEmulator
  readonly access: ProviderAccess
  /** Who can be linked, per provider: the same names everywhere. */
  person(name: 'healthy' | 'history'): readonly Credentials[]
  close(): Promise<void>
}

/** Starts the emulators; the same seed and clock give the same rows. */
export async function startSandbox(options: {
  readonly clock: Clock
  readonly seed?: string
}): Promise<Sandbox> {
  const { clock, seed = 'tributary' } = options
  const [fiskil, akahu, snaptrade] = await Promise.all([
    startFiskilEmulator({ clock, seed }),
    startAkahuEmulator({ clock, seed }),
    startSnapTradeEmulator({ clock, seed }),
  ])
  return {
    fiskil,
    akahu,
    snaptrade,
    access: {
      fiskil: { baseUrl: fiskil.url, ...fiskilDemoCredentials, version: 'v3' },
      akahu: { baseUrl: akahu.baseUrl, ...demoApp },
      snaptrade: { baseUrl: snaptrade.url, ...demoCredentials },
    },
    person(name) {
      const { userId, userSecret } = demoPeople[name]
      return [
        { provider: 'fiskil', endUserId: fiskil.people[name].endUserId },
        { provider: 'akahu', userToken: demoUserTokens[name] },
        { provider: 'snaptrade', snaptradeUserId: userId, userSecret },
      ]
    },
    async close() {
      await Promise.all([fiskil.close(), akahu.close(), snaptrade.close()])
    },
  }
}
