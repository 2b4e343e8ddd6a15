/**
 * The whole sandbox: the three emulators on loopback, with the access that points the real adapters at them and the
 * people whose consents can be adopted. The path that runs in the demo is the path that runs in production.
 */
import type { Clock } from '#kernel/time.ts'
import type { ProviderAccess } from '#providers/adapters.ts'
import type { Credentials } from '#providers/port.ts'
import { type AkahuEmulator, demoApp, startAkahuEmulator } from './akahu/emulator.ts'
import { type FiskilEmulator, fiskilDemoCredentials, startFiskilEmulator } from './fiskil/index.ts'
import { credentialsOf, type MagicName, type SandboxProvider } from './magic-users.ts'
import {
  demoCredentials,
  type SnapTradeEmulator,
  startSnapTradeEmulator,
} from './snaptrade/index.ts'

export interface Sandbox {
  readonly fiskil: FiskilEmulator
  readonly akahu: AkahuEmulator
  readonly snaptrade: SnapTradeEmulator
  readonly access: ProviderAccess
  /** What links a person, at every provider where they live. */
  person(name: MagicName): readonly Credentials[]
  close(): Promise<void>
}

export interface SandboxOptions {
  readonly clock: Clock
  /** The same seed and clock give the same rows. */
  readonly seed?: string
  /** 0 or absent: any free port. */
  readonly ports?: Partial<Readonly<Record<SandboxProvider, number>>>
}

/** Starts the emulators. Rejects when a port is taken; none of them goes on listening then. */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const { clock, seed = 'tributary', ports = {} } = options
  const on = (provider: SandboxProvider) => ({ clock, seed, port: ports[provider] ?? 0 })
  const started = await Promise.allSettled([
    startFiskilEmulator(on('fiskil')),
    startAkahuEmulator(on('akahu')),
    startSnapTradeEmulator(on('snaptrade')),
  ])
  const [fiskil, akahu, snaptrade] = started
  if (
    fiskil.status === 'rejected' ||
    akahu.status === 'rejected' ||
    snaptrade.status === 'rejected'
  ) {
    const running = started.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
    await Promise.all(running.map((emulator) => emulator.close()))
    throw started.find((one) => one.status === 'rejected')?.reason
  }
  return assemble(fiskil.value, akahu.value, snaptrade.value)
}

function assemble(
  fiskil: FiskilEmulator,
  akahu: AkahuEmulator,
  snaptrade: SnapTradeEmulator,
): Sandbox {
  return {
    fiskil,
    akahu,
    snaptrade,
    access: {
      fiskil: { baseUrl: fiskil.url, ...fiskilDemoCredentials, version: 'v3' },
      akahu: { baseUrl: akahu.baseUrl, ...demoApp },
      snaptrade: { baseUrl: snaptrade.url, ...demoCredentials },
    },
    person: credentialsOf,
    async close() {
      await Promise.all([fiskil.close(), akahu.close(), snaptrade.close()])
    },
  }
}
