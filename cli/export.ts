/**
 * `tributary export`: reads the rows of one account by a key through REST, page after page, and writes them
 * as a file on standard output. Progress and failures are said on standard error. A file that fails in its
 * middle has no end, so that no program takes it for whole.
 */
import type { Account, Balance } from '#contract/resources.ts'
import {
  type ExportedRow,
  type Exporter,
  type ExportSubject,
  UnfitRowError,
} from '#exports/exporter.ts'
import { makeExporter } from '#exports/make-exporter.ts'
import { errorCode } from '#kernel/error-code.ts'
import { factsOf, providerNames } from '#providers/all-facts.ts'
import type { Environment } from '#settings/environment-file.ts'
import { ApiError, Tributary, TributaryError } from '../sdk/typescript/index.js'
import { readMachineZone } from './config.ts'
import type { ExportStart } from './export-command.ts'
import { OutputError } from './output.ts'
import { toPrintable } from './printable.ts'
import { readSecrets, type SecretInput } from './read-secrets.ts'
import { Refusal } from './server.ts'

export interface ExportTerminal {
  readonly environment: Environment
  readonly input: SecretInput
  /** Resolves when the text was taken; rejects when it was not. */
  readonly write: (text: string) => Promise<void>
  readonly err: (text: string) => void
}

const pageRows = 500
/** Rows between two lines of progress. */
const progressRows = 5000

/** @throws Refusal for what ends the export, with the row after which it stopped. */
export async function exportAccount(start: ExportStart, terminal: ExportTerminal): Promise<0> {
  const client = await openClient(start, terminal)
  const progress: Progress = { rows: 0, last: null }
  try {
    await writeAccount(client, start, { terminal, progress })
    return 0
  } catch (error) {
    if (error instanceof Refusal) throw error
    throw explain(error, progress)
  }
}

interface Progress {
  rows: number
  /** Id of the last row that was written. */
  last: string | null
}

interface Writing {
  readonly terminal: ExportTerminal
  readonly progress: Progress
}

async function writeAccount(
  client: Tributary,
  start: ExportStart,
  writing: Writing,
): Promise<void> {
  const { account, category, provider } = await findAccount(client, start.account)
  const { from, to, format, hasBom, isForSpreadsheet } = start
  // Programs on this machine show instants in its zone. The dates are those of the person's.
  const zone = readMachineZone() ?? Temporal.Now.timeZoneId()
  const zones = { zone, isOtherZone: true } as const
  // Read before the rows, so that a file with rows is not lost to a balance. A table has none.
  const hasBalance = category === 'banking' && format !== 'csv'
  const balance = hasBalance ? await readBalance(client, account, writing.terminal) : null
  const currency = balance?.currency ?? account.currency
  const subject: ExportSubject = { account, currency, from, to, ...zones, now: Date.now() }
  const made = makeExporter(format, category, subject, { hasBom, isForSpreadsheet })
  if (made === null) {
    const message = `Brokerage accounts have no form in ${format}: choose --format csv or json`
    throw new Refusal({ error: { message } })
  }
  const query = {
    connectionId: account.connectionId,
    accountId: account.id,
    ...(from === null ? {} : { from }),
    ...(to === null ? {} : { to }),
    limit: pageRows,
  }
  const list =
    category === 'banking'
      ? client.transactions.list({ ...query, include: 'currency' })
      : client.trades.list(query)
  const pages = list.pages() as AsyncIterable<{ readonly data: readonly ExportedRow[] }>
  await writeFile(made.exporter as Exporter<ExportedRow>, pages, { ...writing, balance })
  writing.terminal.err(
    `${writing.progress.rows} rows of ${toPrintable(account.name)}, ${currency}\n${describeOlder(provider, from)}`,
  )
}

async function writeFile(
  exporter: Exporter<ExportedRow>,
  pages: AsyncIterable<{ readonly data: readonly ExportedRow[] }>,
  { terminal, progress, balance }: Writing & { readonly balance: Balance | null },
): Promise<void> {
  let said = 0
  let isBegun = false
  for await (const { data } of pages) {
    // Nothing is written before the first page is there: a refusal leaves an empty file.
    const texts = data.map((row) => exporter.add([row]))
    if (!isBegun) await terminal.write(exporter.begin())
    isBegun = true
    // Row by row, so that a disk that fills up is known by the last row that is whole.
    for (const [index, { id }] of data.entries()) {
      await terminal.write(texts[index] ?? '')
      progress.rows += 1
      progress.last = id
    }
    if (progress.rows - said >= progressRows) {
      said = progress.rows
      terminal.err(`${said} rows …\n`)
    }
  }
  await terminal.write(exporter.end(balance))
}

async function openClient(
  start: ExportStart,
  { environment, input, err }: ExportTerminal,
): Promise<Tributary> {
  const [given] = start.key === '-' ? await readSecrets(input, ['--key'], err) : [start.key]
  const apiKey = given ?? environment.TRIBUTARY_API_KEY ?? ''
  if (apiKey === '') {
    throw new Refusal({ error: { message: 'Set TRIBUTARY_API_KEY, or give --key: an API key' } })
  }
  const baseUrl = start.baseUrl ?? environment.TRIBUTARY_BASE_URL ?? toLocal(environment)
  try {
    return new Tributary({ apiKey, baseUrl, userAgent: 'tributary-export' })
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    throw new Refusal({ error: { message: error.message } }, { cause: error })
  }
}

/** The public listener of a server that runs here with its defaults. */
export const toLocal = ({ BASE_URL, PORT }: Environment) =>
  BASE_URL ?? `http://127.0.0.1:${PORT ?? '3000'}`

async function findAccount(client: Tributary, id: string) {
  for await (const account of client.accounts.list({ limit: 200 })) {
    if (account.id !== id.toLowerCase()) continue
    for await (const connection of client.connections.list()) {
      if (connection.id !== account.connectionId) continue
      const category = connection.category === 'brokerage' ? 'brokerage' : 'banking'
      const { provider } = connection
      return { account: account as Account, category, provider } as const
    }
  }
  const message = `The key sees no account ${toPrintable(id)}; /v1/accounts lists those that it sees`
  throw new Refusal({ error: { message } })
}

/** That older rows may exist than the provider gives, where more were asked for; else empty. */
function describeOlder(provider: string, from: string | null): string {
  const known = providerNames.find((name) => name === provider)
  const olderRows = known === undefined ? undefined : factsOf(known).olderRows
  if (olderRows === undefined || from === null) return ''
  const first = Temporal.Now.plainDateISO('UTC').subtract({ days: olderRows.days }).toString()
  return from.slice(0, 10) < first ? `From ${from} on was asked for: ${olderRows.words}\n` : ''
}

/** Null where the provider does not tell it, or the key may not see it; the rows are written all the same. */
async function readBalance(
  client: Tributary,
  { id }: Account,
  { err }: ExportTerminal,
): Promise<Balance | null> {
  try {
    const { data } = await client.balances.list({ accountIds: [id] })
    return (data[0] as Balance | undefined) ?? null
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const isHidden = error.code === 'insufficient_scope'
    if (isHidden) err(`The file is without a balance: ${error.message}\n`)
    if (isHidden || error.status === 501) return null
    throw error
  }
}

/** The failure, and how far the file has come. */
function explain(error: unknown, { rows, last }: Progress): unknown {
  const isUnread = errorCode(error) === 'EPIPE'
  const isOurs =
    [OutputError, TributaryError, TypeError, UnfitRowError].some((kind) => error instanceof kind) ||
    isUnread
  if (!isOurs) return error
  const stopped =
    last === null
      ? 'no whole row was written'
      : `the file is not whole: it stops after ${rows} rows, the last whole one is ${toPrintable(last)}`
  const reason = isUnread ? 'Nobody reads the output any more' : (error as Error).message
  const { code = null, details = [] } = error instanceof ApiError ? error : {}
  return new Refusal(
    {
      error: {
        message: reason,
        ...(code === null ? {} : { code }),
        details: [stopped, ...details],
      },
    },
    { cause: error },
  )
}
