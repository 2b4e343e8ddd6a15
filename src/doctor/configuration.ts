/**
 * What this process was told by its environment, as it may be shown, and what deserves a second thought about it.
 */
import { type Finding, ok, warning } from './finding.ts'

/** The configuration as far as the doctor speaks of it; made by the composition root, secrets already masked. */
export interface Installation {
  readonly version: string
  readonly mode: 'live' | 'sandbox'
  readonly role: 'all' | 'api' | 'worker'
  /** The variables that are set, in the order of the documentation. */
  readonly given: readonly { readonly name: string; readonly shown: string }[]
  /** One sentence each. */
  readonly warnings: readonly string[]
  /** Where the embedded store and generated secrets lie. */
  readonly storeDir: string
  readonly hasDatabase: boolean
  readonly hasRedis: boolean
  readonly encryptionKeyCount: number
}

export function checkConfiguration(installation: Installation): readonly Finding[] {
  const { version, mode, role, given, warnings } = installation
  const set =
    given.length === 0
      ? 'nothing is set'
      : `set are ${given.map(({ name, shown }) => `${name}=${shown}`).join(', ')}`
  return [
    ok('configuration', `Tributary ${version}, ${mode} mode, role ${role}; ${set}`),
    ...warnings.map((sentence, index) =>
      warning(
        `configuration:${index + 1}`,
        sentence,
        'Change the variable and restart, unless it is meant; docs/configuration.md explains each',
      ),
    ),
  ]
}
