/**
 * One run of the command: parse, call, show. Exit codes: 0 done, 1 refused (or found broken), 2 wrong usage. With `--json` standard output
 * holds one JSON document or nothing, and a refusal is an envelope on standard error.
 */
import packageFile from '../package.json' with { type: 'json' }
import { isBroken, renderDiagnosis } from './diagnosis.ts'
import { harmless } from './harmless.ts'
import { type Invocation, parseInvocation, UsageError } from './invocation.ts'
import { examineMcp, type McpDoctorStart } from './mcp-doctor.ts'
import { render } from './render.ts'
import { callServer, type Environment, type ErrorEnvelope, findServer, Refusal } from './server.ts'

export interface Terminal {
  readonly environment: Environment
  readonly workingDirectory: string
  readonly input: AsyncIterable<Uint8Array | string>
  readonly out: (text: string) => void
  readonly err: (text: string) => void
  /** Resolves when somebody wants a command in the foreground to end. */
  readonly untilStopped: () => Promise<void>
}

/** Runs the command with these arguments; gives the exit code. */
export async function run(args: readonly string[], terminal: Terminal): Promise<0 | 1 | 2> {
  const asksJson = args.includes('--json')
  try {
    return await execute(parseInvocation(args), terminal)
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
    // Loaded here alone: no other command needs the emulators.
    const { runSandbox } = await import('./sandbox.ts')
    await runSandbox(invocation.start, terminal)
    return 0
  }
  if (invocation.kind === 'mcp-doctor') return examineAndShow(invocation.start, terminal)
  return callAndShow(invocation, terminal)
}

async function callAndShow(
  invocation: Extract<Invocation, { kind: 'call' }>,
  terminal: Terminal,
): Promise<0 | 1> {
  const { command, json, path, secretField } = invocation
  const server = await findServer(terminal.environment, terminal.workingDirectory)
  const body =
    secretField === null
      ? invocation.body
      : { ...invocation.body, [secretField]: await readSecret(terminal.input) }
  const call = { method: command.method, path, body }
  const answer = await callServer(server, call).catch((error: unknown) => {
    throw command.noun === 'sandbox' ? explainMissing(error) : error
  })
  // A call without an answer (204) still prints a document: scripts parse what they asked for.
  terminal.out(json ? `${JSON.stringify(answer ?? {})}\n` : render(command.show, answer))
  return command.show.kind === 'diagnosis' && isBroken(answer) ? 1 : 0
}

async function examineAndShow(asked: McpDoctorStart, terminal: Terminal): Promise<0 | 1> {
  const start = asked.key === '-' ? { ...asked, key: await readSecret(terminal.input) } : asked
  const diagnosis = await examineMcp(start)
  terminal.out(start.json ? `${JSON.stringify(diagnosis)}\n` : renderDiagnosis(diagnosis))
  return isBroken(diagnosis) ? 1 : 0
}

/** Outside sandbox mode the paths of the sandbox do not exist. */
function explainMissing(error: unknown): unknown {
  if (!(error instanceof Refusal) || error.envelope.error.code !== 'not_found') return error
  const message = 'This server has no sandbox: it is not in sandbox mode'
  return new Refusal({ error: { message, code: 'not_found' } }, error)
}

function toSentence({ error }: ErrorEnvelope): string {
  const code = error.code === undefined ? '' : ` (${error.code})`
  const lines = [
    `tributary: ${error.message}${code}`,
    ...(error.details ?? []).map((one) => `  ${one}`),
  ]
  return `${lines.map(harmless).join('\n')}\n`
}

const maxSecretBytes = 16_384

/** The first line of standard input. */
async function readSecret(input: Terminal['input']): Promise<string> {
  let text = ''
  for await (const chunk of input) {
    text += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString('utf8')
    if (text.includes('\n') || text.length > maxSecretBytes) break
  }
  const secret = text.split(/\r?\n/)[0] ?? ''
  if (secret !== '') return secret
  throw new Refusal({ error: { message: 'Standard input holds no secret' } })
}
