/**
 * Parses the environment once into a deeply frozen object: the only file that reads `process.env`. It does
 * not guess: every problem of every variable is reported at once, without ever showing a secret.
 */
import { isIP } from 'node:net'
import type { Origins } from '#contract/origins.ts'
import { isZone } from '#kernel/time.ts'
import { factsOf, personalVariables, providerNames } from '#providers/all-facts.ts'
import { type Config, compose } from '#settings/compose.ts'
import { findConfigWarnings, findContradictions } from '#settings/config-check.ts'
import type { Environment } from '#settings/environment-file.ts'
import { type EnvironmentFile, readEnvironmentFile } from '#settings/environment-file.ts'
import { findMisplacedKeys } from '#settings/misplaced-keys.ts'
import { hasOwnCredentials } from '#settings/own-credentials.ts'
import { nameByFile, readSecretFiles } from '#settings/secret-files.ts'
import { type SettingName, settings, type Values } from '#settings/settings.ts'

/** Every problem of the environment; `message` has one line per problem. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly problems: readonly string[]

  constructor(problems: readonly string[], file: string | null = null) {
    const also = file === null ? '' : ` (environment and ${file})`
    super(`The configuration has ${problems.length} problem(s)${also}:\n  ${problems.join('\n  ')}`)
    this.problems = problems
  }
}

/** The parts of the environment that are not settings: how this process was started. */
export interface StartInfo {
  readonly byNpm: boolean
  /**
   * The process id of the starter where it stays as the parent (`scripts/pinned.js`); null where it does not.
   */
  readonly starter: number | null
  /** The directories in which commands are searched. */
  readonly path: string
}

export function readStartInfo(): StartInfo {
  const { npm_lifecycle_event: event, TRIBUTARY_STARTER: starter, PATH: path = '' } = process.env
  return {
    byNpm: event !== undefined,
    starter: starter === undefined ? null : Number(starter),
    path,
  }
}

/**
 * The configuration of this process: its environment, with the `.env` of the working directory as fallback.
 * Under `NODE_ENV=test` no file is read: tests set everything explicitly.
 * @throws ConfigError, EnvironmentFileError
 */
export function readOwnConfig(): Config {
  const folder = process.cwd()
  const file = process.env.NODE_ENV === 'test' ? null : readEnvironmentFile(folder)
  return readConfig(process.env, folder, file)
}

/**
 * Reads an environment. An empty variable counts as unset, and the environment overrides the file.
 * @param workingDirectory base of a relative `DATA_DIR`.
 * @throws ConfigError with one line per problem: the variable, what was given, what it should be.
 */
export function readConfig(
  own: Environment,
  workingDirectory: string = process.cwd(),
  file: EnvironmentFile | null = null,
): Config {
  const files = readSecretFiles({ ...file?.variables, ...own }, workingDirectory)
  const { environment } = files
  const problems: string[] = []
  const values = readValues(environment, problems)
  const given = (name: SettingName) => readText(environment, name) !== ''
  const providers = readProviders(values, given, problems)
  // A provider that is open to people's own keys is always on, which says nothing about whether it is wanted.
  const isConfigured = providerNames.some((name) => hasOwnCredentials(providers, name))
  const sandbox = values.SANDBOX ?? (!isConfigured && !given('DATABASE_URL'))
  const config = compose(values, { sandbox, providers, workingDirectory })
  // A variable that was refused already has its line.
  const refused = new Set(problems.map((problem) => problem.split(':')[0]))
  const readSound = (name: string) => (refused.has(name) ? '' : readText(environment, name))
  problems.push(...findMisplacedKeys(readSound))
  problems.push(...findContradictions(config, given), ...findUnknownZone(own))
  const named = nameByFile(files, problems)
  if (named.length > 0) throw new ConfigError(named, file?.path)
  return deepFreeze({
    ...config,
    given: listGiven(environment),
    environmentFile: file && { path: file.path, names: listFromFile(file, own) },
    warnings: [
      ...findConfigWarnings(config, given, environment),
      ...findExposedFile(file),
      ...files.warnings,
      ...findUnknownCountries(values),
    ],
  })
}

/**
 * The runtime falls back to UTC without a word. What does not look like an IANA name (`:/etc/localtime`,
 * `AEST-10`) is for the C library; it changes nothing here, because every zone of the service is named.
 */
function findUnknownZone(own: Environment): string[] {
  const text = readText(own, 'TZ')
  if (!/^[A-Za-z][\w+-]*(?:\/[\w+-]+)+$/.test(text) || isZone(text)) return []
  return [`TZ: got "${text}", should be an IANA time zone such as Australia/Sydney, or unset`]
}

/** The list of a provider's banks has no others. */
function findUnknownCountries(values: Values): string[] {
  return providerNames.flatMap((provider) => {
    const { countries, settings: named } = factsOf(provider)
    const known: readonly string[] = countries ?? []
    return Object.entries(named.optional).flatMap(([field, name]) => {
      const given: unknown = field === 'countries' ? values[name as SettingName] : null
      const unknown = Array.isArray(given) ? given.filter((code) => !known.includes(code)) : []
      if (unknown.length === 0) return []
      const codes = unknown.join(', ')
      return [`${name} has ${codes}, where it has no banks: it knows ${known.join(', ')}.`]
    })
  })
}

function listFromFile({ variables }: EnvironmentFile, own: Environment): readonly SettingName[] {
  return settings.flatMap(([name]) =>
    own[name] === undefined && readText(variables, name) !== '' ? [name] : [],
  )
}

function findExposedFile(file: EnvironmentFile | null): string[] {
  if (file?.isExposed !== true) return []
  const isHeld = (name: string) => readText(file.variables, name) !== ''
  const secrets = [
    ...settings.flatMap(([name, { isSecret }]) => (isSecret && isHeld(name) ? [name] : [])),
    ...personalVariables.flatMap(({ name }) => (isHeld(name) ? [name] : [])),
  ]
  if (secrets.length === 0) return []
  const sentence = `${file.path} holds ${secrets.join(', ')} and can be read by others (mode ${file.mode}): chmod 600 it.`
  return [sentence]
}

/** The public origins once the listener has its port: one that is not configured is the listener's own. */
export function toOrigins(config: Config, port: number = config.listener.port): Origins {
  const { host } = config.listener
  const base = config.baseUrl ?? `http://${isIP(host) === 6 ? `[${host}]` : host}:${port}`
  return { base, mcp: config.mcpUrl ?? base, auth: config.authUrl ?? base }
}

function readText(environment: Environment, name: string): string {
  return environment[name]?.trim() ?? ''
}

function listGiven(environment: Environment): Config['given'] {
  return settings.flatMap(([name, { isSecret }]) => {
    const text = readText(environment, name)
    if (text === '') return []
    return [{ name, shown: isSecret || mayHideSecret(text) ? '[secret]' : text }]
  })
}

/** Secrets are searched in every line of the log by one regular expression, which the runtime bounds. */
const maxLength = 8192

function readValues(environment: Environment, problems: string[]): Values {
  const values: Record<string, unknown> = {}
  for (const [name, setting] of settings) {
    const text = readText(environment, name)
    if (text.length > maxLength) {
      problems.push(`${name}: got ${text.length} characters, should have at most ${maxLength}`)
      values[name] = setting.fallback
      continue
    }
    const value = text === '' ? setting.fallback : setting.parse(text)
    if (value === undefined) {
      const expects = setting.explain?.(text) ?? setting.expects
      problems.push(`${name}: got ${show(text, setting.isSecret)}, should be ${expects}`)
    }
    // A refused variable counts as unset from here on, so that further problems are found too.
    values[name] = value === undefined ? setting.fallback : value
  }
  return values as Values
}

/** User-info in a URL, long text and what begins like a key may be a misplaced secret: not shown either. */
function show(text: string, isSecret: boolean): string {
  const isQuoted = /^["'].*["']$/.test(text)
  if (isSecret || mayHideSecret(text)) {
    return isQuoted ? 'a value in quotes' : 'a value that is not shown here'
  }
  return JSON.stringify(text)
}

function mayHideSecret(text: string): boolean {
  return text.includes('@') || text.length > 80 || /trib_|token_|up:yeah|[\w-]{40,}/i.test(text)
}

type Given = (name: SettingName) => boolean

function readProviders(values: Values, given: Given, problems: string[]): Config['providers'] {
  const read = (name: string): unknown => values[name as SettingName]
  const isGiven = (name: string) => given(name as SettingName)
  const providers: Record<string, unknown> = {}
  for (const provider of providerNames) {
    const { isOpen } = factsOf(provider)
    const { baseUrl, required, optional, preset, fallbackFields } = factsOf(provider).settings
    const needed = Object.values(required)
    const set = [...needed, ...Object.values(optional)].filter(isGiven)
    const missing = needed.filter((name) => !isGiven(name))
    if (set.length > 0 && missing.length > 0) {
      problems.push(`${missing.join(', ')}: not set, should be set together with ${set.join(', ')}`)
    }
    const names = Object.entries({ baseUrl, ...required, ...optional, ...preset })
    const own = Object.fromEntries(names.map(([field, name]) => [field, read(name)]))
    for (const [field, other] of Object.entries(fallbackFields)) own[field] ??= own[other]
    // A required variable that was refused counts as unset.
    const isComplete = needed.every((name) => read(name) !== null)
    providers[provider] = isComplete || isOpen ? own : null
  }
  // The type is made from the same facts.
  return providers as Config['providers']
}

/** Functions, secrets and other class instances are skipped: they have no writable state. */
function deepFreeze<Value>(value: Value): Value {
  const isPlain = Array.isArray(value) || Object.getPrototypeOf(value ?? 0) === Object.prototype
  if (!isPlain) return value
  for (const part of Object.values(value as object)) deepFreeze(part)
  return Object.freeze(value)
}
