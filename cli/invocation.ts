/**
 * From the words on the command line to a call of the admin API. It knows the table of commands and nothing of HTTP;
 * whatever does not fit is a UsageError with the usage line of the command that was meant.
 */
import { parseArgs } from 'node:util'
import { type Command, commands, type Flag, mcpDoctor, type Words } from './commands.ts'
import type { McpDoctorStart } from './mcp-doctor.ts'
import type { SandboxStart } from './sandbox.ts'
import { sandboxStart } from './sandbox-commands.ts'
import { commandHelp, nounHelp, overview, usageLine } from './usage.ts'

export type Invocation =
  | { readonly kind: 'help'; readonly text: string }
  | { readonly kind: 'version' }
  | { readonly kind: 'sandbox'; readonly start: SandboxStart }
  | { readonly kind: 'mcp-doctor'; readonly start: McpDoctorStart }
  | {
      readonly kind: 'call'
      readonly command: Command
      readonly json: boolean
      readonly path: string
      /** Null: the call has no body. */
      readonly body: Body | null
      /** The field whose value is read from standard input; null: none. */
      readonly secretField: string | null
    }

type Body = Readonly<Record<string, string | number | true>>

/** Wrong usage: exit code 2. `usage` is the text that helps. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
  readonly usage: string
  constructor(message: string, usage: string) {
    super(message)
    this.usage = usage
  }
}

/** @throws UsageError */
export function parseInvocation(args: readonly string[]): Invocation {
  const general = new Set<string>()
  let start = 0
  while (['--json', '--help', '-h', '--version'].includes(args[start] ?? '')) {
    general.add(args[start] ?? '')
    start += 1
  }
  const asksHelp = general.has('--help') || general.has('-h')
  const [noun, ...words] = args.slice(start)
  if (general.has('--version')) return { kind: 'version' }
  if (noun === undefined) {
    if (asksHelp) return { kind: 'help', text: overview() }
    throw new UsageError('what shall be done?', overview())
  }
  if (noun === mcpDoctor.noun && words.some((word) => /^--mcp(?:=|$)/.test(word))) {
    return parseMcpDoctor(words, general.has('--json'))
  }
  const own = commands.filter((command) => command.noun === noun)
  if (own.length === 0) throw new UsageError(`there is no "${noun}"`, overview())
  const command = own.find((candidate) => isVerb(candidate.verb, words))
  if (command !== undefined) {
    if (asksHelp) return { kind: 'help', text: commandHelp(command) }
    const rest = words.slice(wordsOf(command.verb).length)
    return parseCommand(command, rest, general.has('--json'))
  }
  const verb = words[0]
  if (asksHelp || verb === '--help' || verb === '-h') return { kind: 'help', text: nounHelp(noun) }
  if (noun === sandboxStart.noun && (verb === undefined || verb.startsWith('-'))) {
    return parseSandboxStart(words, general.has('--json'))
  }
  const problem = verb === undefined ? `"${noun}" needs a verb` : `there is no "${noun} ${verb}"`
  throw new UsageError(problem, nounHelp(noun))
}

/** None for a noun that is a command by itself. */
function wordsOf(verb: string): readonly string[] {
  return verb === '' ? [] : verb.split(' ')
}

function isVerb(verb: string, words: readonly string[]): boolean {
  return wordsOf(verb).every((word, index) => word === words[index])
}

function parseCommand(command: Command, args: readonly string[], json: boolean): Invocation {
  const { values, positionals } = readFlags(command, args)
  if (values.help === true) return { kind: 'help', text: commandHelp(command) }
  const missing = command.flags.find(
    (flag) => flag.isRequired === true && values[flag.name] === undefined,
  )
  if (missing !== undefined) throw wrong(command, `--${missing.name} is missing`)
  const { path, fields } = placeArguments(command, positionals)
  let secretField: string | null = null
  for (const flag of command.flags) {
    const value = values[flag.name]
    if (value === undefined) continue
    const field = toCamelCase(flag.name)
    fields[field] = toValue(flag, value)
    if (flag.isSecret !== true || value !== '-') continue
    if (secretField !== null) throw wrong(command, 'only one value can be read from standard input')
    secretField = field
  }
  const hasBody = command.flags.length > 0 || command.placeFields !== undefined
  const body = hasBody ? fields : null
  return { kind: 'call', command, json: json || values.json === true, path, body, secretField }
}

function parseSandboxStart(args: readonly string[], json: boolean): Invocation {
  const { values, positionals } = readFlags(sandboxStart, args)
  if (values.help === true) return { kind: 'help', text: commandHelp(sandboxStart) }
  const [surplus] = positionals
  if (surplus !== undefined) {
    throw wrong(sandboxStart, `"${surplus}" is one argument too many`)
  }
  const port = (name: string, fallback: number): number => {
    const text = values[name]
    if (text === undefined) return fallback
    const number = typeof text === 'string' && /^\d{1,5}$/.test(text) ? Number(text) : -1
    if (number >= 0 && number <= 65_535) return number
    throw wrong(sandboxStart, `--${name} should be a port from 0 to 65535`)
  }
  const ports = {
    fiskil: port('fiskil-port', 4010),
    akahu: port('akahu-port', 4020),
    snaptrade: port('snaptrade-port', 4030),
  }
  const seed = typeof values.seed === 'string' ? values.seed : null
  return { kind: 'sandbox', start: { ports, seed, json: json || values.json === true } }
}

function parseMcpDoctor(args: readonly string[], json: boolean): Invocation {
  // Its verb is written like a flag, so that `doctor --key - --mcp URL` and `--mcp=URL` mean the same.
  const { values, positionals } = readFlags(mcpDoctor, args, ['mcp'])
  if (values.help === true) return { kind: 'help', text: commandHelp(mcpDoctor) }
  const [surplus] = positionals
  if (surplus !== undefined) throw wrong(mcpDoctor, `"${surplus}" is one argument too many`)
  const { mcp, key } = values
  const url = typeof mcp === 'string' && URL.canParse(mcp) ? new URL(mcp) : null
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    throw wrong(mcpDoctor, '--mcp should be an http or https URL')
  }
  const start = { url: url.href, key: typeof key === 'string' ? key : null }
  return { kind: 'mcp-doctor', start: { ...start, json: json || values.json === true } }
}

/** What the server is told: digits of a number are a number, anything else is for it to refuse. */
function toValue(flag: Pick<Flag, 'isNumber'>, value: string | true): string | number | true {
  const isNumber = flag.isNumber === true && typeof value === 'string' && /^\d{1,9}$/.test(value)
  return isNumber ? Number(value) : value
}

function readFlags(command: Words, args: readonly string[], more: readonly string[] = []) {
  const options: Record<string, { type: 'string' | 'boolean'; short?: string }> = {
    json: { type: 'boolean' },
    help: { type: 'boolean', short: 'h' },
  }
  for (const flag of command.flags) {
    options[flag.name] = { type: flag.value === null ? 'boolean' : 'string' }
  }
  for (const name of more) options[name] = { type: 'string' }
  try {
    const parsed = parseArgs({
      args: joinNegative(args),
      options,
      allowPositionals: true,
      tokens: true,
    })
    refuseTwice(command, parsed.tokens)
    const values = parsed.values as Record<string, string | true | undefined>
    return { values, positionals: parsed.positionals }
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    // The parser's first sentence names the flag; what follows explains its own syntax at length.
    throw wrong(command, error.message.split(/\.\s|\n/)[0] ?? error.message)
  }
}

/** `--amount -4.50` is meant as one value; the parser wants `--amount=-4.50`. */
function joinNegative(args: readonly string[]): string[] {
  const joined: string[] = []
  for (const text of args) {
    const flag = joined.at(-1)
    const isValue = /^-[\d.]/.test(text) && flag !== undefined && /^--[a-z-]+$/.test(flag)
    if (isValue) joined[joined.length - 1] = `${flag}=${text}`
    else joined.push(text)
  }
  return joined
}

function refuseTwice(
  command: Words,
  tokens: readonly { readonly kind: string; readonly name?: string }[],
): void {
  const given = tokens.flatMap(({ kind, name }) => (kind === 'option' && name ? [name] : []))
  const twice = given.find((name, index) => given.indexOf(name) !== index)
  if (twice !== undefined) throw wrong(command, `--${twice} is given more than once`)
}

/** The path with its places filled, and the fields that take the arguments it has no place for. */
function placeArguments(
  command: Command,
  positionals: readonly string[],
): { readonly path: string; readonly fields: Record<string, string | number | true> } {
  const missing = command.places[positionals.length]
  if (missing !== undefined) throw wrong(command, `${missing} is missing`)
  const surplus = positionals[command.places.length]
  if (surplus !== undefined) throw wrong(command, `"${surplus}" is one argument too many`)
  const queue = [...positionals]
  const path = command.path.replaceAll('{}', () => {
    const text = queue.shift() ?? ''
    // A URL would take the dots for a step up, and an empty name for another path.
    if (['', '.', '..'].includes(text)) throw wrong(command, `"${text}" names nothing`)
    return encodeURIComponent(text)
  })
  const fields: Record<string, string | number | true> = {}
  for (const field of command.placeFields ?? []) {
    fields[field] = toValue({ isNumber: true }, queue.shift() ?? '')
  }
  return { path, fields }
}

function wrong(command: Words, message: string): UsageError {
  return new UsageError(message, usageLine(command))
}

function toCamelCase(name: string): string {
  return name.replace(/-([a-z])/g, (_match, letter: string) => letter.toUpperCase())
}
