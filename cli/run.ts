/**
 * One run of the command: parse, call, show. Exit codes: 0 done, 1 refused (or an error found), 2 wrong
 * usage. With `--json` standard output is one JSON document or nothing, and a refusal is an envelope on
 * standard error.
 */

import type { Environment } from '#settings/environment-file.ts'
import packageFile from '../package.json' with { type: 'json' }
import type { Command } from './command.ts'
import { mcpDoctor } from './commands.ts'
import { isBroken, renderDiagnosis } from './diagnosis.ts'
import { type Invocation, parseInvocation, toFlagWords, UsageError } from './invocation.ts'
import { examineMcp, type McpDoctorStart } from './mcp-doctor.ts'
import type { Output, OutputError } from './output.ts'
import { toPrintable } from './printable.ts'
import { readSecrets, type SecretInput } from './read-secrets.ts'
import { render } from './render.ts'
import {
  type Call,
  callServer,
  type ErrorBody,
  findServer,
  Refusal,
  type Server,
  withoutPrefix,
} from './server.ts'

export interface Terminal extends Output {
  readonly environment: Environment
  readonly workingDirectory: string
  readonly input: SecretInput
  /** Standard error is a terminal, so that questions are seen. */
  readonly isErrTerminal?: boolean
  readonly err: (text: string) => void
  /** Resolves when a command in the foreground is asked to end. */
  readonly untilStopped: () => Promise<void>
}

/** Runs the command with these arguments; returns the exit code. */
export async function run(args: readonly string[], terminal: Terminal): Promise<0 | 1 | 2> {
  const asksJson = args.includes('--json')
  try {
    const code = await execute(parseInvocation(args), terminal)
    const loss = terminal.loss()
    if (loss !== null) throw new Refusal({ error: { message: loss.message } }, { cause: loss })
    return code
  } catch (error) {
    if (error instanceof UsageError) {
      terminal.err(`tributary: ${error.message}\n${error.usage.trimEnd()}\n`)
      return 2
    }
    if (!(error instanceof Refusal)) throw error
    terminal.err(asksJson ? `${JSON.stringify(error.envelope)}\n` : toSentence(error.envelope))
    return 1
  }
}

async function execute(invocation: Invocation, terminal: Terminal): Promise<0 | 1> {
  if (invocation.kind === 'help') {
    terminal.out(invocation.text)
    return 0
  }
  if (invocation.kind === 'version') {
    terminal.out(`tributary ${packageFile.version}\n`)
    return 0
  }
  if (invocation.kind === 'sandbox') {
    // Imported here only: no other command needs the emulators.
    const { runSandbox } = await import('./sandbox.ts')
    await runSandbox(invocation.start, terminal)
    return 0
  }
  if (invocation.kind === 'setup') {
    const { setUp } = await import('./setup/setup.ts')
    return setUp(invocation.start, terminal)
  }
  if (invocation.kind === 'store-copy') {
    // Imported here only: no other command needs the store.
    const { runStoreCopy } = await import('./store-copy.ts')
    return runStoreCopy(invocation.start, terminal)
  }
  if (invocation.kind === 'listen') {
    const { listen } = await import('./listen.ts')
    return listen(invocation.start, terminal)
  }
  if (invocation.kind === 'listen-by-key') {
    const { listenByKey } = await import('./listen-by-key.ts')
    return listenByKey(invocation.start, terminal)
  }
  if (invocation.kind === 'export') {
    const { exportAccount } = await import('./export.ts')
    return exportAccount(invocation.start, terminal)
  }
  if (invocation.kind === 'conformance') {
    const { runConformance } = await import('./conformance/conformance.ts')
    return runConformance(invocation.start, terminal)
  }
  if (invocation.kind === 'mcp-doctor') return examineAndShow(invocation.start, terminal)
  return callAndShow(invocation, terminal)
}

async function callAndShow(
  invocation: Extract<Invocation, { kind: 'call' }>,
  terminal: Terminal,
): Promise<0 | 1> {
  const { command, json, path, secrets } = invocation
  const server = await findServer(terminal.environment, terminal.workingDirectory)
  const body =
    secrets.length === 0
      ? invocation.body
      : { ...invocation.body, ...(await readFields(terminal, secrets)) }
  const call = { method: command.method, path, body, waitSeconds: command.waitSeconds }
  const answer = await (command.readsAllPages === true
    ? readPages(server, call)
    : callServer(server, call)
  ).catch((error: unknown) => {
    throw explain(command, error)
  })
  // A call without an answer (204) still prints a document, because scripts parse the output.
  terminal.out(json ? `${JSON.stringify(answer ?? {})}\n` : render(command.show, answer))
  const loss = terminal.loss()
  if (loss !== null && command.method !== 'GET') throw toLost(loss, answer)
  return command.show.kind === 'diagnosis' && isBroken(answer) ? 1 : 0
}

/** The change was made: what it answered may be a key or a secret that is shown only once. */
function toLost(loss: OutputError, answer: unknown): Refusal {
  const { id } = (answer ?? {}) as { readonly id?: unknown }
  const made = typeof id === 'string' ? `what was made or changed has the id ${id}; ` : ''
  const detail = `The server has done it: ${made}a secret that was to be shown once is lost, so revoke or remove what has it`
  return new Refusal({ error: { message: loss.message, details: [detail] } }, { cause: loss })
}

async function readFields(
  { input, err }: Terminal,
  secrets: Extract<Invocation, { kind: 'call' }>['secrets'],
): Promise<Readonly<Record<string, string>>> {
  const names = secrets.map(({ flag }) => `--${flag}`)
  const values = await readSecrets(input, names, err)
  return Object.fromEntries(secrets.map(({ field }, index) => [field, values[index] ?? '']))
}

/** A page has a thousand rows: no real list is longer than this. */
const maxPages = 1000

/** All rows in one answer, as if there were no pages. */
async function readPages(server: Server, call: Call): Promise<unknown> {
  const data: unknown[] = []
  let cursor: string | null = null
  for (let pages = 0; pages < maxPages; pages += 1) {
    const query: string = cursor === null ? '' : `?cursor=${encodeURIComponent(cursor)}`
    const answer = await callServer(server, { ...call, path: call.path + query })
    const page = (answer ?? {}) as { readonly data?: unknown; readonly next?: unknown }
    if (Array.isArray(page.data)) data.push(...page.data)
    if (typeof page.next !== 'string') break
    cursor = page.next
  }
  return { data }
}

async function examineAndShow(asked: McpDoctorStart, terminal: Terminal): Promise<0 | 1> {
  const [key = asked.key] =
    asked.key === '-' ? await readSecrets(terminal.input, ['--key'], terminal.err) : []
  const start = { ...asked, key }
  const diagnosis = await examineMcp(start)
  terminal.out(start.json ? `${JSON.stringify(diagnosis)}\n` : renderDiagnosis(diagnosis))
  return isBroken(diagnosis) ? 1 : 0
}

/** Rewords a refusal of the server for the command line, with advice when the server has a problem. */
function explain(command: Command, thrown: unknown): unknown {
  if (!(thrown instanceof Refusal)) return thrown
  const { error } = thrown.envelope
  // Outside sandbox mode the paths of the sandbox do not exist.
  if (command.noun === 'sandbox' && error.code === 'not_found') {
    const message = 'This server has no sandbox: it is not in sandbox mode'
    return new Refusal({ error: { message, code: 'not_found' } }, { cause: thrown })
  }
  const isDoctor = command.noun === mcpDoctor.noun
  const details = [
    ...(error.details ?? []).map((line) => toFlagWords(command, line)),
    ...(thrown.status === 503 && !isDoctor
      ? ['`tributary doctor` says what is unavailable or refused, and what to do']
      : []),
  ]
  if (details.length === 0) return thrown
  return new Refusal({ error: { ...error, details } }, { cause: thrown })
}

function toSentence({ error }: ErrorBody): string {
  const code = error.code === undefined ? '' : ` (${error.code})`
  const lines = [
    `tributary: ${withoutPrefix(error.message)}${code}`,
    ...(error.details ?? []).map((one) => `  ${one}`),
  ]
  return `${lines.map(toPrintable).join('\n')}\n`
}
