/**
 * Assembles the doctor with what it checks: the configuration in a form that may be shown, the ports, this
 * machine. It contains no rule of its own.
 */
import { type Examine, type Installation, makeDoctor, realMachine } from '#doctor/doctor.ts'
import { version } from '#src/version.ts'
import type { AppParts } from './foundation.ts'

/** The function behind `GET /admin/doctor`. */
export function makeExamination(parts: AppParts): Examine {
  return makeDoctor({
    ...parts,
    mail: parts.mailer,
    installation: describeInstallation(parts),
    machine: realMachine,
    onFailure: (check, error) =>
      parts.reports.backgroundFailure('doctor', new Error(`check ${check}`, { cause: error })),
  })
}

function describeInstallation({ config, secrets }: AppParts): Installation {
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
