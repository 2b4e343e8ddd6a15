/**
 * `tributary setup`: one person's first run. It makes the owner and an API key and links the person's own
 * keys. Every step looks first at what is there, so a run that was cut off is completed by the next one, and
 * a further run changes nothing.
 */
import { findCommand } from '#app/command.ts'
import { isEmail, tidyEmail } from '#contract/email.ts'
import { isZone } from '#kernel/time.ts'
import type { Config } from '#settings/compose.ts'
import type { Environment } from '#settings/environment-file.ts'
import {
  type EnvironmentFile,
  EnvironmentFileError,
  readEnvironmentFile,
} from '#settings/environment-file.ts'
import { readSecretFiles } from '#settings/secret-files.ts'
import { readStartInfo } from '#src/config.ts'
import type { Output } from '../output.ts'
import { type LineReader, makeLineReader, type SecretInput, tooMany } from '../read-secrets.ts'
import { Refusal } from '../server.ts'
import { askAgain, stoppedHalfway, type ValueSource } from './ask-again.ts'
import {
  listAnswers,
  listReplacements,
  readLiveConfig,
  type SettingsSources,
} from './live-config.ts'
import { demandOwnFolder } from './own-folder.ts'
import { type Collected, collectKeys, type PersonalKeys } from './personal-keys.ts'
import { addToSettingsFile, type Written } from './settings-file.ts'
import { findRunning, openInside } from './setup-admin.ts'
import { type SetupStart, tokenFlags } from './setup-command.ts'
import { describeOutcome, type SetUpResult } from './setup-report.ts'
import { arrange, findOwner } from './setup-steps.ts'

export interface SetupTerminal {
  readonly environment: Environment
  readonly workingDirectory: string
  readonly input: SecretInput
  /** Questions can be seen. */
  readonly isErrTerminal?: boolean
  readonly out: (text: string) => void
  readonly loss: Output['loss']
  readonly err: (text: string) => void
  /** Resolves when the command is asked to end. */
  readonly untilStopped: () => Promise<void>
}

/** @throws Refusal when something could not be done; what could be is done and shown then. */
export async function setUp(start: SetupStart, terminal: SetupTerminal): Promise<0> {
  const stopped = terminal.untilStopped().then(() => {
    throw new Refusal({ error: { message: stoppedHalfway } })
  })
  const outcome = await Promise.race([work(start, terminal), stopped])
  const { user, key, connections, failures } = outcome
  terminal.out(
    start.json ? `${JSON.stringify({ user, key, connections })}\n` : describeOutcome(outcome),
  )
  const loss = terminal.loss()
  if (loss !== null && key !== null) {
    const lost = `The API key was made and is lost: while the service runs, find it with \`tributary keys list ${user.email}\`, revoke it, and make another with \`tributary keys create ${user.email}\``
    const details = [lost, ...failures]
    throw new Refusal({ error: { message: loss.message, details } }, { cause: loss })
  }
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

async function work(start: SetupStart, terminal: SetupTerminal): Promise<SetUpResult> {
  const reader = makeLineReader(terminal.input, terminal.err)
  try {
    return await workWith(reader, start, terminal)
  } finally {
    // Without `-` and without a terminal nothing is read: standard input may belong to another program.
    if (reader.isTerminal || start.fromInput.length > 0) await reader.close()
  }
}

async function workWith(
  reader: LineReader,
  start: SetupStart,
  terminal: SetupTerminal,
): Promise<SetUpResult> {
  const { environment: own, workingDirectory, err } = terminal
  demandOwnFolder(workingDirectory)
  const file = readFile(workingDirectory)
  const { environment } = readSecretFiles({ ...file?.variables, ...own }, workingDirectory)
  if (start.timezone !== null) demandZone(start.timezone)
  if (start.email !== null) demandEmail(start.email)
  const running = await findRunning(own, environment, workingDirectory)
  const sources = { own, file, workingDirectory }
  // Mistakes in what is set are reported before anything is asked for.
  if (running === null) readLiveConfig(sources, [])
  const person = reader.isTerminal && terminal.isErrTerminal ? reader : null
  // A store is opened once everything is known: without a service the address is looked for then.
  const checkEmail = async (email: string) => void (running && (await findOwner(running, email)))
  const given = await readGiven(start, { reader, person, err, checkEmail }, environment)
  reader.pause()
  const findPlace = (name: string): ValueSource => {
    if (start.fromInput.includes(name)) return 'typed'
    if (own[name]?.trim()) return 'environment'
    return file?.variables[name]?.trim() ? 'file' : 'typed'
  }
  // The present keys, by provider: those that were given anew take the place of those that were refused.
  const present = new Map(given.collected.keys.map((keys) => [keys.provider, keys]))
  const common = {
    ...given,
    leftInFile: [...tokenFlags.values()].filter((name) => file?.variables[name]),
    nameSource: (name: string) => describePlace(name, findPlace(name), file),
    async askAgain(keys: PersonalKeys, reason: string) {
      if (person === null) return null
      const next = await askAgain(keys, reason, { reader, say: err, findPlace })
      if (next !== null) present.set(next.provider, next)
      return next
    },
  }
  if (running !== null) {
    const rest = { admin: running, isRunning: true, fromEnvironment: [] }
    const write = (accepted: readonly PersonalKeys[]) => replaceSettings(sources, accepted)
    return arrange({ ...common, ...rest, writeSettings: write })
  }
  const readConfig = () => readLiveConfig(sources, [...present.values()])
  const listSecrets = () => [...present.values()].flatMap(({ held }) => [...held.values()])
  const admin = await openInside({ readConfig, listSecrets, err })
  try {
    const write = (accepted: readonly PersonalKeys[]) => writeSettings(sources, accepted)
    const fromEnvironment = listFromEnvironment(own, readConfig())
    const rest = { admin, isRunning: false, writeSettings: write, fromEnvironment }
    return await arrange({ ...common, ...rest })
  } finally {
    await admin.close()
  }
}

function describePlace(name: string, place: ValueSource, file: EnvironmentFile | null): string[] {
  if (place === 'typed') return []
  return [`${name} in ${place === 'file' ? file?.path : 'the environment'}`]
}

/** Null: a wrapper on the path sets what the service needs, for a container or the unit of this machine. */
function listFromEnvironment(own: Environment, config: Config): readonly string[] | null {
  if (findCommand(readStartInfo()).knowsSettings) return null
  return config.given.flatMap(({ name }) => (own[name]?.trim() ? [name] : []))
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
  {
    reader,
    person,
    err,
    checkEmail,
  }: {
    readonly reader: LineReader
    readonly person: LineReader | null
    readonly err: SetupTerminal['err']
    readonly checkEmail: (email: string) => Promise<void>
  },
  environment: Environment,
): Promise<Given> {
  const email = tidyEmail(start.email ?? (await askEmail(person, err)))
  await checkEmail(email)
  const flags: Record<string, string> = {}
  for (const variable of start.fromInput) flags[variable] = await readToken(reader, variable)
  if (start.fromInput.length > 0 && reader.hasMore())
    throw tooMany(start.fromInput.map((variable) => `--${toFlag(variable)}`))
  const collected = await collectKeys({ ...environment, ...flags }, person, err)
  return { email, timezone: start.timezone, collected }
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

/** Writes what neither the environment nor the file has, and what was given in place of what the file has. */
async function writeSettings(
  { own, file, workingDirectory }: SettingsSources,
  accepted: readonly PersonalKeys[],
): Promise<Written | null> {
  const additions = new Map([...listAnswers(accepted), ['SANDBOX', 'false'] as const])
  const missing = [...additions].filter(([name]) => (own[name]?.trim() ?? '') === '')
  const replacements = listReplacements(accepted)
  const isNeeded = missing.length + replacements.size > 0 || file?.isExposed === true
  return isNeeded ? addToSettingsFile(workingDirectory, new Map(missing), replacements) : null
}

/** A service that runs has its settings already: nothing is added to them. */
async function replaceSettings(
  { workingDirectory }: SettingsSources,
  accepted: readonly PersonalKeys[],
): Promise<Written | null> {
  const replacements = listReplacements(accepted)
  return replacements.size === 0
    ? null
    : addToSettingsFile(workingDirectory, new Map(), replacements)
}
