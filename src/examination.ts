/**
 * The doctor with what it looks at: the configuration as it may be shown, the ports, this machine. It holds no rule of
 * its own.
 */
import { type Examine, type Installation, makeDoctor, realMachine } from '#doctor/doctor.ts'
import type { Clock } from '#kernel/time.ts'
import type { Adapters } from '#providers/port.ts'
import type { Kv } from '#store/kv-port.ts'
import type { Store } from '#store/port.ts'
import type { Config, Origins } from './config.ts'
import type { Secrets } from './settings/secrets.ts'
import { version } from './version.ts'

export interface ExaminationParts {
  readonly config: Config
  readonly secrets: Secrets
  readonly store: Store
  readonly kv: Kv
  readonly adapters: Adapters
  readonly clock: Clock
  readonly origins: () => Origins
  readonly onFailure: (error: unknown) => void
}

/** What `GET /admin/doctor` asks for. */
export function makeExamination(parts: ExaminationParts): Examine {
  return makeDoctor({
    ...parts,
    installation: describeInstallation(parts),
    machine: realMachine,
    onFailure: (check, error) => parts.onFailure(new Error(`check ${check}`, { cause: error })),
  })
}

function describeInstallation({ config, secrets }: ExaminationParts): Installation {
  return {
    version,
    mode: config.mode,
    role: config.role,
    given: config.given,
    warnings: [...config.warnings, ...secrets.warnings],
    storeDir: config.storeDir,
    hasDatabase: config.databaseUrl !== null,
    hasRedis: config.redisUrl !== null,
    encryptionKeyCount: secrets.encryptionKeys.reveal().length,
  }
}
