/**
 * `tributary setup`: one person's first run. It makes the owner and an API key and links the person's own keys. Every step
 * looks first at what is there, so a run that was cut off is completed by the next one, and a further run changes nothing.
 */
import { findCommand } from '#app/command.ts'
import { isEmail, tidyEmail } from '#contract/email.ts'
import { isZone } from '#kernel/time.ts'
import type { Config } from '#settings/config-types.ts'
import { ConfigError, readConfig, readStartInfo } from '#src/config.ts'
import {
  type EnvironmentFile,
  EnvironmentFileError,
  readEnvironmentFile,
} from '#src/settings/environment-file.ts'
import { type LineReader, makeLineReader, type SecretInput, tooMany } from '../read-secrets.ts'
import { type Environment, Refusal } from '../server.ts'
import { demandOwnFolder } from './own-folder.ts'
import { type Collected, collectKeys } from './personal-keys.ts'
import { addToSettingsFile, type Written } from './settings-file.ts'
import { findRunning, openInside } from './setup-admin.ts'
import { type SetupStart, tokenFlags } from './setup-command.ts'
import { describeOutcome, type Outcome } from './setup-report.ts'
import { arrange } from './setup-steps.ts'

export interface SetupTerminal {
  readonly environment: Environment
  readonly workingDirectory: string
  readonly input: SecretInput
  /** Questions can be seen. */
  readonly isErrTerminal?: boolean
  readonly out: (text: string) => void
  readonly err: (text: string) => void
  /** Resolves when the command is asked to end. */
  readonly untilStopped: () => Promise<void>
}

/** @throws Refusal when something could not be done; what could be is done and shown then. */
export async function setUp(start: SetupStart, terminal: SetupTerminal): Promise<0> {
  const stopped = terminal.untilStopped().then(() => {
    const message = 'Stopped; run setup again, it completes what is missing'
    throw new Refusal({ error: { message } })
  })
  const outcome = await Promise.race([work(start, terminal), stopped])
  const { user, key, connections, failures } = outcome
  terminal.out(
    start.json ? `${JSON.stringify({ user, key, connections })}\n` : describeOutcome(outcome),
  )
  if (failures.length === 0) return 0
  const [first = ''] = failures
  throw new Refusal({
    error:
      failures.length === 1
        ? { message: first }
        : { message: 'Not everything could be linked', details: failures },
  })
}

/** What is asked for and read before anything is changed. */
interface Given {
  readonly email: string
  readonly timezone: string | null
  readonly collected: Collected
}

async function work(start: SetupStart, terminal: SetupTerminal): Promise<Outcome> {
  const { environment: own, workingDirectory, err } = terminal
  demandOwnFolder(workingDirectory)
  const file = readFile(workingDirectory)
  const environment = { ...file?.variables, ...own }
  if (start.timezone !== null) demandZone(start.timezone)
  if (start.email !== null) demandEmail(start.email)
  const running = await findRunning(own, environment, workingDirectory)
  // Mistakes in what is set are reported before anything is asked for.
  if (running === null) readLiveConfig({ own, file, workingDirectory, additions: new Map() })
  const given = await readGiven(start, terminal, environment)
  const { collected } = given
  const leftInFile = [...tokenFlags.values()].filter((name) => file?.variables[name])
  const nameSource = (name: string) => {
    if (start.fromInput.includes(name)) return []
    if (own[name]?.trim()) return [`${name} in the environment`]
    return file?.variables[name]?.trim() ? [`${name} in ${file.path}`] : []
  }
  const common = { ...given, leftInFile, nameSource }
  if (running !== null) {
    const rest = { admin: running, isRunning: true, fromEnvironment: [] }
    return arrange({ ...common, ...rest, writeSettings: async () => null })
  }
  const additions = new Map([...collected.answers.values()].flatMap((answers) => [...answers]))
  const config = readLiveConfig({ own, file, workingDirectory, additions })
  const secrets = collected.keys.flatMap(({ tokens }) => Object.values(tokens))
  const admin = await openInside(config, secrets, err)
  try {
    const write = (answers: ReadonlyMap<string, string>) =>
      writeSettings(workingDirectory, own, file, new Map([...answers, ['SANDBOX', 'false']]))
    // A wrapper on the path sets what the service needs: a container, or the unit of this machine.
    const isManaged = findCommand(readStartInfo()).knowsSettings
    const fromEnvironment = isManaged
      ? null
      : config.given.flatMap(({ name }) => (own[name]?.trim() ? [name] : []))
    const rest = { admin, isRunning: false, writeSettings: write, fromEnvironment }
    return await arrange({ ...common, ...rest })
  } finally {
    await admin.close()
  }
}

function readFile(folder: string): EnvironmentFile | null {
  try {
    return readEnvironmentFile(folder)
  } catch (error) {
    if (!(error instanceof EnvironmentFileError)) throw error
    throw new Refusal({ error: { message: error.message } }, { cause: error })
  }
}

async function readGiven(
  start: SetupStart,
  { input, isErrTerminal, err }: SetupTerminal,
  environment: Environment,
): Promise<Given> {
  const reader = makeLineReader(input, err)
  const isAnswered = reader.isTerminal && isErrTerminal
  // Without `-` and without a terminal nothing is read: standard input may belong to another program.
  try {
    const email = start.email ?? (await askEmail(isAnswered ? reader : null, err))
    const flags: Record<string, string> = {}
    for (const variable of start.fromInput) flags[variable] = await readToken(reader, variable)
    if (start.fromInput.length > 0 && reader.hasMore())
      throw tooMany(start.fromInput.map((variable) => `--${toFlag(variable)}`))
    const collected = await collectKeys(
      { ...environment, ...flags },
      isAnswered ? reader : null,
      err,
    )
    return { email: tidyEmail(email), timezone: start.timezone, collected }
  } finally {
    if (reader.isTerminal || start.fromInput.length > 0) await reader.close()
  }
}

const maxAttempts = 3

async function askEmail(reader: LineReader | null, say: (text: string) => void): Promise<string> {
  for (let attempt = 1; reader !== null && attempt <= maxAttempts; attempt += 1) {
    const text = await reader.ask({ text: 'E-mail address of the owner: ', isSecret: false })
    if (text === null) break
    if (isEmail(tidyEmail(text))) return text
    say('  This is not an e-mail address, such as you@example.com.\n')
  }
  throw new Refusal({ error: { message: 'The e-mail address of the owner is needed: --email E' } })
}

const toFlag = (variable: string) =>
  [...tokenFlags].find(([, name]) => name === variable)?.[0] ?? variable

async function readToken(reader: LineReader, variable: string): Promise<string> {
  const flag = toFlag(variable)
  const token = await reader.ask({ text: `--${flag}: `, isSecret: true })
  if (token !== null && token.trim() !== '') return token
  const message = `Standard input has no line for --${flag}; send the token to it`
  throw new Refusal({ error: { message } })
}

function demandEmail(text: string): void {
  if (isEmail(tidyEmail(text))) return
  throw new Refusal({ error: { message: '--email must be an e-mail address' } })
}

function demandZone(text: string): void {
  if (isZone(text)) return
  const message = '--timezone must be an IANA time zone, e.g. Australia/Sydney or Pacific/Auckland'
  throw new Refusal({ error: { message } })
}

interface LiveSources {
  readonly own: Environment
  readonly file: EnvironmentFile | null
  readonly workingDirectory: string
  readonly additions: ReadonlyMap<string, string>
}

/** The configuration that the service will have. @throws Refusal for one that cannot work, and for sandbox mode. */
function readLiveConfig({ own, file, workingDirectory, additions }: LiveSources): Config {
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

/** Writes what neither the environment nor the file has. */
async function writeSettings(
  folder: string,
  own: Environment,
  file: EnvironmentFile | null,
  additions: ReadonlyMap<string, string>,
): Promise<Written | null> {
  const missing = [...additions].filter(([name]) => (own[name]?.trim() ?? '') === '')
  if (missing.length === 0 && file?.isExposed !== true) return null
  return addToSettingsFile(folder, new Map(missing))
}
