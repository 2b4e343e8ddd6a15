/**
 * Assembles the doctor with what it checks: the configuration in a form that may be shown, the ports, this machine. It
 * contains no rule of its own.
 */
import {
  type DoctorDeps,
  type Examine,
  type Installation,
  makeDoctor,
  realMachine,
} from '#doctor/doctor.ts'
import type { Kv } from '#fast/port.ts'
import type { Clock } from '#kernel/time.ts'
import type { Mailer } from '#mail/mailer.ts'
import type { Adapters } from '#providers/port.ts'
import type { Config, Origins } from '#settings/config-types.ts'
import type { Secrets } from '#settings/secrets.ts'
import { version } from '#src/version.ts'
import type { Store } from '#store/ports/store.ts'

export interface ExaminationParts {
  readonly config: Config
  readonly secrets: Secrets
  readonly store: Store
  readonly kv: Kv
  readonly adapters: Adapters
  readonly clock: Clock
  readonly mailer: Mailer | null
  readonly failures: DoctorDeps['failures']
  readonly origins: () => Origins
  readonly onFailure: (error: unknown) => void
}

/** The function behind `GET /admin/doctor`. */
export function makeExamination(parts: ExaminationParts): Examine {
  return makeDoctor({
    ...parts,
    mail: parts.mailer,
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
    environmentFile: config.environmentFile?.path ?? null,
    warnings: [...config.warnings, ...secrets.warnings],
    storeDir: config.storeDir,
    hasDatabase: config.databaseUrl !== null,
    hasRedis: config.redisUrl !== null,
    encryptionKeyCount: secrets.encryptionKeys.reveal().length,
  }
}
