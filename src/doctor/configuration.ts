/**
 * Reports the configuration that this process read from its environment, in a form that may be shown, and
 * warns about risky settings.
 */
import { type Finding, ok, warning } from './finding.ts'

/** The part of the configuration that the doctor reports, with secrets masked. */
export interface Installation {
  readonly version: string
  readonly mode: 'live' | 'sandbox'
  readonly role: 'all' | 'api' | 'worker'
  /** The variables that are set, in the order of the documentation. */
  readonly given: readonly { readonly name: string; readonly shown: string }[]
  /** The path of the `.env` file that was read; null when there was none. */
  readonly environmentFile: string | null
  /** One sentence each. */
  readonly warnings: readonly string[]
  /** Directory of the embedded store and the generated secrets. */
  readonly storeDir: string
  readonly hasDatabase: boolean
  readonly hasRedis: boolean
  readonly encryptionKeyCount: number
}

export function checkConfiguration(installation: Installation): readonly Finding[] {
  const { version, mode, role, given, environmentFile, warnings } = installation
  const set =
    given.length === 0
      ? 'nothing is set'
      : `set are ${given.map(({ name, shown }) => `${name}=${shown}`).join(', ')}`
  const file = environmentFile === null ? '' : `; ${environmentFile} was read`
  return [
    ok('configuration', `Tributary ${version}, ${mode} mode, role ${role}; ${set}${file}`),
    ...warnings.map((sentence, index) =>
      warning(
        `configuration:${index + 1}`,
        sentence,
        'Change what it names, a variable or the mode of a file (chmod), and restart, unless this is intended; docs/configuration.md explains the variables',
      ),
    ),
  ]
}
