/**
 * The whole sandbox: every provider's emulator on loopback, with the access that points the real adapters at
 * them and the people whose consents can be linked. The demo uses the same adapters as production.
 */
import type { Clock } from '#kernel/time.ts'
import type { ProviderAccess } from '#providers/adapters.ts'
import type { Credentials } from '#providers/credentials.ts'
import { senderOf } from './emulator.ts'
import { type Emulators, emulators } from './emulators.ts'
import {
  credentialsOf,
  type MagicName,
  type SandboxProvider,
  sandboxProviders,
} from './magic-users.ts'

export interface Sandbox extends Emulators {
  readonly access: ProviderAccess
  /** What links a person, at every provider where they live. */
  person(name: MagicName): readonly Credentials[]
  /** The base address of the service that gets the webhooks of every provider; null: none are sent. */
  sendWebhooksTo(baseUrl: string | null): void
  close(): Promise<void>
}

export interface SandboxOptions {
  readonly clock: Clock
  /** The same seed and clock give the same rows. */
  readonly seed?: string
  /** 0 or absent: any free port. */
  readonly ports?: Partial<Readonly<Record<SandboxProvider, number>>>
}

/**
 * The port of the one emulator whose address is part of what a connection keeps: an access URL of SimpleFIN.
 * The service takes it when it is free, so that such connections outlive a restart of the sandbox.
 */
const lastingPorts = { simplefin: 4051 } as const

/** The sandbox of a service. Where a lasting port is taken, by another service say, it takes free ones. */
export async function startOwnSandbox(
  clock: Clock,
  ports: SandboxOptions['ports'] = lastingPorts,
): Promise<Sandbox> {
  try {
    return await startSandbox({ clock, ports })
  } catch (error) {
    const isTaken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE'
    if (!isTaken) throw error
    return startSandbox({ clock })
  }
}

/** Starts the emulators. Rejects when a port is taken; then none of them keeps listening. */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const { clock, seed = 'tributary', ports = {} } = options
  const started = await Promise.allSettled(
    sandboxProviders.map(async (name) => {
      const { emulator, access } = await emulators[name].start({
        clock,
        seed,
        port: ports[name] ?? 0,
      })
      return { name, emulator, access }
    }),
  )
  const running = started.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  const close = async () => {
    await Promise.all(running.map(({ emulator }) => emulator.close()))
  }
  const refused = started.find((one) => one.status === 'rejected')
  if (refused !== undefined) {
    await close()
    throw refused.reason
  }
  const byName = Object.fromEntries(running.map(({ name, emulator }) => [name, emulator]))
  const access = Object.fromEntries(running.map((one) => [one.name, one.access]))
  return {
    // All of them run, each under the name of its provider.
    ...(byName as unknown as Emulators),
    access: access as unknown as ProviderAccess,
    person: (name) => credentialsOf(name, access as unknown as ProviderAccess),
    sendWebhooksTo(baseUrl) {
      for (const { name, emulator } of running) {
        const sender = senderOf(emulator)
        if (sender !== null) sender.target = baseUrl && `${baseUrl}/providers/${name}/webhook`
      }
    },
    close,
  }
}
