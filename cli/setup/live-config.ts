/** The configuration that the service will have after a setup, read before anything is written. */
import type { Config } from '#settings/compose.ts'
import type { Environment, EnvironmentFile } from '#settings/environment-file.ts'
import { ConfigError, readConfig } from '#src/config.ts'
import { Refusal } from '../server.ts'
import type { PersonalKeys } from './personal-keys.ts'

export interface SettingsSources {
  readonly own: Environment
  readonly file: EnvironmentFile | null
  readonly workingDirectory: string
}

type Variables = ReadonlyMap<string, string>

/** What was typed for the service, with what must be set beside it. */
export function listAnswers(keys: readonly PersonalKeys[]): Variables {
  return new Map(keys.flatMap(({ answers }) => [...answers]))
}

export function listReplacements(keys: readonly PersonalKeys[]): Variables {
  return new Map(keys.flatMap(({ replacements }) => [...replacements]))
}

/** @throws Refusal for one that cannot work, and for sandbox mode. */
export function readLiveConfig(sources: SettingsSources, keys: readonly PersonalKeys[]): Config {
  const { own, workingDirectory } = sources
  const additions = listAnswers(keys)
  const file = replaceIn(sources.file, listReplacements(keys))
  const isSet = (name: string) => ((own[name] ?? file?.variables[name])?.trim() ?? '') !== ''
  const more = [...additions, ['SANDBOX', 'false'] as const].filter(([name]) => !isSet(name))
  try {
    const config = readConfig({ ...own, ...Object.fromEntries(more) }, workingDirectory, file)
    if (config.mode === 'live') return config
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    throw new Refusal({ error: describeProblems(error, file) }, { cause: error })
  }
  const place = own.SANDBOX === undefined ? (file?.path ?? '') : 'the environment'
  const message = `SANDBOX is true in ${place}, which means made-up people: set SANDBOX=false there, then run setup again`
  throw new Refusal({ error: { message } })
}

function replaceIn(file: EnvironmentFile | null, replacements: Variables): EnvironmentFile | null {
  if (file === null) return null
  return { ...file, variables: { ...file.variables, ...Object.fromEntries(replacements) } }
}

/** One problem is one line; several are one line each. */
function describeProblems({ problems }: ConfigError, file: EnvironmentFile | null) {
  const place = `the environment${file === null ? '' : ` or ${file.path}`}`
  const [first = ''] = problems
  if (problems.length === 1) {
    return { message: `${first}; correct it in ${place}, then run setup again` }
  }
  const message = `${problems.length} settings cannot be used; correct them in ${place}, then run setup again`
  return { message, details: problems }
}
