/**
 * From the words on the command line to a call of the admin API. It knows the table of commands and nothing of HTTP;
 * whatever does not fit is a UsageError with the usage line of the command that was meant.
 */
import { parseArgs } from 'node:util'
import { type Command, commands } from './commands.ts'
import { commandHelp, nounHelp, overview, usageLine } from './usage.ts'

export type Invocation =
  | { readonly kind: 'help'; readonly text: string }
  | { readonly kind: 'version' }
  | {
      readonly kind: 'call'
      readonly command: Command
      readonly json: boolean
      readonly path: string
      /** Null: the call has no body. */
      readonly body: Readonly<Record<string, string | true>> | null
      /** The field whose value is read from standard input; null: none. */
      readonly secretField: string | null
    }

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
  const [noun, verb, ...rest] = args.slice(start)
  if (general.has('--version')) return { kind: 'version' }
  if (noun === undefined) {
    if (asksHelp) return { kind: 'help', text: overview() }
    throw new UsageError('what shall be done?', overview())
  }
  const own = commands.filter((command) => command.noun === noun)
  if (own.length === 0) throw new UsageError(`there is no "${noun}"`, overview())
  const command = own.find((candidate) => candidate.verb === verb)
  if (command === undefined) {
    const isHelp = asksHelp || verb === '--help' || verb === '-h'
    if (isHelp) return { kind: 'help', text: nounHelp(noun) }
    const problem = verb === undefined ? `"${noun}" needs a verb` : `there is no "${noun} ${verb}"`
    throw new UsageError(problem, nounHelp(noun))
  }
  if (asksHelp) return { kind: 'help', text: commandHelp(command) }
  return parseCommand(command, rest, general.has('--json'))
}

function parseCommand(command: Command, args: readonly string[], json: boolean): Invocation {
  const { values, positionals, tokens } = readFlags(command, args)
  if (values.help === true) return { kind: 'help', text: commandHelp(command) }
  const given = tokens.flatMap((token) => (token.kind === 'option' ? [token.name] : []))
  const twice = given.find((name, index) => given.indexOf(name) !== index)
  if (twice !== undefined) throw wrong(command, `--${twice} is given more than once`)
  const missing = command.flags.find(
    (flag) => flag.isRequired === true && values[flag.name] === undefined,
  )
  if (missing !== undefined) throw wrong(command, `--${missing.name} is missing`)
  const path = fillPath(command, positionals)
  const fields: Record<string, string | true> = {}
  let secretField: string | null = null
  for (const flag of command.flags) {
    const value = values[flag.name]
    if (value === undefined || value === false) continue
    const field = toCamelCase(flag.name)
    fields[field] = value
    if (flag.isSecret !== true || value !== '-') continue
    if (secretField !== null) throw wrong(command, 'only one value can be read from standard input')
    secretField = field
  }
  const body = command.flags.length === 0 ? null : fields
  return { kind: 'call', command, json: json || values.json === true, path, body, secretField }
}

function readFlags(command: Command, args: readonly string[]) {
  const options: Record<string, { type: 'string' | 'boolean'; short?: string }> = {
    json: { type: 'boolean' },
    help: { type: 'boolean', short: 'h' },
  }
  for (const flag of command.flags) {
    options[flag.name] = { type: flag.value === null ? 'boolean' : 'string' }
  }
  try {
    const parsed = parseArgs({ args: [...args], options, allowPositionals: true, tokens: true })
    return { ...parsed, values: parsed.values as Record<string, string | boolean | undefined> }
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    // The parser's first sentence names the flag; what follows explains its own syntax at length.
    throw wrong(command, error.message.split(/\.\s|\n/)[0] ?? error.message)
  }
}

function fillPath(command: Command, positionals: readonly string[]): string {
  const missing = command.places[positionals.length]
  if (missing !== undefined) throw wrong(command, `${missing} is missing`)
  const surplus = positionals[command.places.length]
  if (surplus !== undefined) throw wrong(command, `"${surplus}" is one argument too many`)
  const queue = [...positionals]
  return command.path.replaceAll('{}', () => {
    const text = queue.shift() ?? ''
    // A URL would take the dots for a step up, and an empty name for another path.
    if (['', '.', '..'].includes(text)) throw wrong(command, `"${text}" names nothing`)
    return encodeURIComponent(text)
  })
}

function wrong(command: Command, message: string): UsageError {
  return new UsageError(message, usageLine(command))
}

function toCamelCase(name: string): string {
  return name.replace(/-([a-z])/g, (_match, letter: string) => letter.toUpperCase())
}
