/**
 * `tributary store copy`: moves an installation from the embedded store to PostgreSQL. It needs no running
 * service, and refuses to run beside one. What is copied, and how it is verified, is defined in
 * `src/store/copy-store.ts`.
 */
import { describeStartFailure } from '#app/welcome.ts'
import type { Config } from '#settings/compose.ts'
import {
  type Environment,
  EnvironmentFileError,
  readEnvironmentFile,
} from '#settings/environment-file.ts'
import { loadSecrets, SecretsError } from '#settings/secrets.ts'
import { settings } from '#settings/settings.ts'
import { ConfigError, readConfig } from '#src/config.ts'
import { type CopiedTable, type CopyProgress, copyStore } from '#store/copy-store.ts'
import { StoreCopyError, StoreOpenError, StoreUnavailableError } from '#store/failure.ts'
import { readSecrets, type SecretInput } from './read-secrets.ts'
import { Refusal } from './server.ts'
import type { StoreCopyStart } from './store-copy-command.ts'

export interface StoreCopyTerminal {
  readonly environment: Environment
  readonly workingDirectory: string
  readonly input: SecretInput
  readonly out: (text: string) => void
  readonly err: (text: string) => void
  /** Resolves when the command is asked to end. */
  readonly untilStopped: () => Promise<void>
}

/** @throws Refusal when nothing was copied. */
export async function runStoreCopy(start: StoreCopyStart, terminal: StoreCopyTerminal): Promise<0> {
  const progress = makeProgress(start.json ? () => {} : terminal.err)
  const stopped = terminal.untilStopped().then(() => {
    throw refusal('Stopped', progress.hasBegun)
  })
  terminal.out(await Promise.race([copyAndDescribe(start, terminal, progress), stopped]))
  return 0
}

async function copyAndDescribe(
  start: StoreCopyStart,
  terminal: StoreCopyTerminal,
  progress: Progress,
): Promise<string> {
  const { config, databaseUrl } = await readSettings(start, terminal)
  let keysIn = ''
  const tables = await copyStore({
    dataDir: config.storeDir,
    databaseUrl,
    mode: config.mode,
    async loadKeys() {
      const { encryptionKeys, encryptionKeysIn } = await loadSecrets(config)
      keysIn = encryptionKeysIn
      return { encryptionKeys: encryptionKeys.reveal(), encryptionKeysIn }
    },
    onProgress: progress.show,
  }).catch((error: unknown) => {
    throw toRefusal(error, progress.hasBegun)
  })
  const rows = tables.reduce((sum, table) => sum + table.rows, 0)
  if (!start.json) return describe({ config, tables, rows, keysIn })
  const listed = tables.map(({ name, rows, sha256 }) => ({ name, rows, sha256 }))
  return `${JSON.stringify({ rows, tables: listed })}\n`
}

interface Settings {
  readonly config: Config
  readonly databaseUrl: string
}

/** The settings of the service that has the embedded store, and the database that the next one will have. */
async function readSettings(
  { fromInput }: StoreCopyStart,
  { environment: own, workingDirectory, input, err }: StoreCopyTerminal,
): Promise<Settings> {
  try {
    const file = readEnvironmentFile(workingDirectory)
    const setting = (name: string) => (own[name] ?? file?.variables[name])?.trim() ?? ''
    // Without a database, and so on the embedded store. Whoever moves to PostgreSQL moves a live store,
    // unless they say so.
    const embedded = { ...own, DATABASE_URL: '', SANDBOX: setting('SANDBOX') || 'false' }
    const config = readConfig(embedded, workingDirectory, file)
    const [line] = fromInput ? await readSecrets(input, ['--to'], err) : [setting('DATABASE_URL')]
    return { config, databaseUrl: parseUrl(line?.trim() ?? '', fromInput) }
  } catch (error) {
    if (error instanceof ConfigError) {
      const message = 'The settings cannot be used; correct them, then copy'
      throw new Refusal({ error: { message, details: error.problems } }, { cause: error })
    }
    if (error instanceof EnvironmentFileError) throw refusal(error.message, false, error)
    throw error
  }
}

/** It is never shown: it may hold a password. */
function parseUrl(text: string, fromInput: boolean): string {
  if (text === '')
    throw refusal('No database is named: set DATABASE_URL, or send its URL to `--to -`')
  const setting = new Map(settings).get('DATABASE_URL')
  const url = setting?.parse(text) as { reveal(): string } | undefined
  if (url !== undefined) return url.reveal()
  const place = fromInput ? 'The line of standard input' : 'DATABASE_URL'
  const form = 'a URL such as postgresql://user:password@host:5432/database'
  throw refusal(`${place} should be ${setting?.explain?.(text) ?? form}`)
}

interface Progress {
  /** The database is marked. */
  readonly hasBegun: boolean
  readonly show: (step: CopyProgress) => void
}

/** One line for each table, and for each batch of its rows. */
function makeProgress(say: (text: string) => void): Progress {
  const progress = {
    hasBegun: false,
    show(step: CopyProgress) {
      if (step.kind === 'begun') progress.hasBegun = true
      else if (step.kind === 'sent') say(`  ${step.table}: ${step.rows} rows sent\n`)
      else say(`  ${step.table.name}: ${step.table.rows} rows verified\n`)
    },
  }
  return progress
}

function describe(copied: {
  readonly config: Config
  readonly tables: readonly CopiedTable[]
  readonly rows: number
  /** Where the encryption keys are. */
  readonly keysIn: string
}): string {
  const { config, tables, rows, keysIn } = copied
  const key = keysIn === 'ENCRYPTION_KEY' ? 'the same' : `the content of ${keysIn} as`
  return [
    `The store is copied: ${rows} rows in ${tables.length} tables, verified by their number and digest.`,
    `Next: set DATABASE_URL to this database and ${key} ENCRYPTION_KEY, and start the service.`,
    `The embedded store in ${config.storeDir} is as it was: start no service on it again, since what happens there is lost.`,
    '',
  ].join('\n')
}

function toRefusal(error: unknown, hasBegun: boolean): unknown {
  const isKnown =
    error instanceof StoreCopyError ||
    error instanceof StoreOpenError ||
    error instanceof StoreUnavailableError ||
    error instanceof SecretsError
  return isKnown ? refusal(describeStartFailure(error), hasBegun, error) : error
}

function refusal(message: string, hasBegun = false, cause?: unknown): Refusal {
  const unfinished =
    'No service starts on the database until a copy has finished: run the command again, it begins anew'
  const details = hasBegun ? { details: [unfinished] } : {}
  return new Refusal({ error: { message, ...details } }, { cause })
}
