/**
 * Assembles the doctor with what it checks: the configuration in a form that may be shown, the ports, this
 * machine. It contains no rule of its own.
 */
import { type Examine, type Installation, makeDoctor, realMachine } from '#doctor/doctor.ts'
import { version } from '#src/version.ts'
import type { AssemblyOptions } from './foundation.ts'

/** The function behind `GET /admin/doctor`. */
export function makeExamination(options: AssemblyOptions): Examine {
  return makeDoctor({
    ...options,
    mail: options.mailer,
    installation: describeInstallation(options),
    machine: realMachine,
    onFailure: (check, error) =>
      options.reports.backgroundFailure('doctor', new Error(`check ${check}`, { cause: error })),
  })
}

function describeInstallation({ config, secrets }: AssemblyOptions): Installation {
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
