/**
 * Converts the command line to a call of the admin API. It knows the table of commands and nothing of HTTP;
 * invalid input is a UsageError with the usage line of the closest command.
 */
import { parseArgs } from 'node:util'
import type { Provider } from '#contract/resources.ts'
import { toCamelCase } from '#doors/admin/table/input-fields.ts'
import { exportFormats } from '#exports/exporter.ts'
import { factsOf, providerNames } from '#providers/all-facts.ts'
import type { Command, Flag, LocalCommand, Words } from './command.ts'
import { commands, mcpDoctor, webhooksListen } from './commands.ts'
import {
  type ConformanceStart,
  conformanceCommand,
  toConformanceStart,
} from './conformance/conformance-command.ts'
import { type ExportStart, exportCommand } from './export-command.ts'
import type { ListenStart } from './listen.ts'
import { type ListenByKeyStart, readListenStart } from './listen-start.ts'
import type { McpDoctorStart } from './mcp-doctor.ts'
import type { SandboxStart } from './sandbox.ts'
import { portFlag, sandboxStart, webhookFlag } from './sandbox-commands.ts'
import { type SetupStart, setupCommand, tokenFlags } from './setup/setup-command.ts'
import { type StoreCopyStart, storeCopy } from './store-copy-command.ts'
import { findHelp, nounHelp, shortList, usageLine } from './usage.ts'

export type Invocation =
  | { readonly kind: 'help'; readonly text: string }
  | { readonly kind: 'version' }
  | { readonly kind: 'setup'; readonly start: SetupStart }
  | { readonly kind: 'sandbox'; readonly start: SandboxStart }
  | { readonly kind: 'mcp-doctor'; readonly start: McpDoctorStart }
  | { readonly kind: 'store-copy'; readonly start: StoreCopyStart }
  | { readonly kind: 'listen'; readonly start: ListenStart }
  | { readonly kind: 'listen-by-key'; readonly start: ListenByKeyStart }
  | { readonly kind: 'export'; readonly start: ExportStart }
  | { readonly kind: 'conformance'; readonly start: ConformanceStart }
  | {
      readonly kind: 'call'
      readonly command: Command
      readonly json: boolean
      readonly path: string
      /** Null: the call has no body. */
      readonly body: Body | null
      /**
       * The flags whose values are read from standard input, in the order of the command line, with their
       * fields.
       */
      readonly secrets: readonly { readonly flag: string; readonly field: string }[]
    }

type Value = string | number | true | readonly string[]
type Body = Readonly<Record<string, Value>>

/** Wrong usage: exit code 2. `usage` is the text that shows the right one. */
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
  if (asksHelp(args)) return parseHelp(args)
  const general = new Set<string>()
  let start = 0
  while (['--json', '--version'].includes(args[start] ?? '')) {
    general.add(args[start] ?? '')
    start += 1
  }
  const [noun, ...words] = args.slice(start)
  if (general.has('--version')) return { kind: 'version' }
  if (noun === undefined) throw new UsageError('a command is missing', shortList())
  if (noun === mcpDoctor.noun && words.some((word) => /^--mcp(?:=|$)/.test(word))) {
    return parseMcpDoctor(words, general.has('--json'))
  }
  if (noun === setupCommand.noun) return parseSetup(words, general.has('--json'))
  if (noun === exportCommand.noun) return parseExport(words)
  if (noun === conformanceCommand.noun) return parseConformance(words, general.has('--json'))
  if (noun === storeCopy.noun) return parseStoreCopy(words, general.has('--json'))
  const own = commands.filter((command) => command.noun === noun)
  if (own.length === 0) throw new UsageError(`there is no "${noun}"`, shortList())
  if (noun === webhooksListen.noun && words[0] === webhooksListen.verb) {
    return parseListen(words.slice(1), general.has('--json'))
  }
  const command = own.find((candidate) => isMeant(candidate, words))
  if (command !== undefined) {
    const rest = words.slice(wordsOf(command.verb).length)
    return parseCommand(command, rest, general.has('--json'))
  }
  const verb = words[0]
  const isAbsent = verb === undefined || verb.startsWith('-')
  if (noun === sandboxStart.noun && isAbsent) {
    return parseSandboxStart(words, general.has('--json'))
  }
  const problem = isAbsent ? `"${noun}" needs a verb` : `there is no "${noun} ${verb}"`
  throw new UsageError(problem, nounHelp(noun))
}

/** At any position: no flag takes one of these two words as its value. */
function asksHelp(args: readonly string[]): boolean {
  const end = args.indexOf('--')
  const flags = end === -1 ? args : args.slice(0, end)
  return flags.includes('--help') || flags.includes('-h')
}

function parseHelp(args: readonly string[]): Invocation {
  const isMcp = args[0] === mcpDoctor.noun && args.some((word) => /^--mcp(?:=|$)/.test(word))
  const words = isMcp
    ? [mcpDoctor.noun, mcpDoctor.verb]
    : args.filter((word) => !word.startsWith('-'))
  const text = findHelp(words)
  if (text === null) throw new UsageError(`there is no "${words[0]}"`, shortList())
  return { kind: 'help', text }
}

/** Empty for a noun that is a command by itself. */
function wordsOf(verb: string): readonly string[] {
  return verb === '' ? [] : verb.split(' ')
}

/** Two commands may share their words; then the flags decide which one is meant. */
function isMeant({ verb, onlyWith }: Command, words: readonly string[]): boolean {
  const isGiven = (flag: string) =>
    words.some((word) => word === `--${flag}` || word.startsWith(`--${flag}=`))
  return isVerb(verb, words) && (onlyWith === undefined || onlyWith.some(isGiven))
}

function isVerb(verb: string, words: readonly string[]): boolean {
  return wordsOf(verb).every((word, index) => word === words[index])
}

function parseCommand(command: Command, args: readonly string[], json: boolean): Invocation {
  const { values, positionals, order } = readFlags(command, args)
  const missing = command.flags.find(
    (flag) => flag.isRequired === true && values[flag.name] === undefined,
  )
  if (missing !== undefined) throw wrong(command, `--${missing.name} is missing`)
  const { path, fields } = placeArguments(command, positionals)
  if (command.needsFlag === true && command.flags.every(({ name }) => values[name] === undefined)) {
    const names = command.flags.map(({ name }) => `--${name}`).join(' or ')
    throw wrong(command, `nothing to set: give ${names}`)
  }
  for (const flag of command.flags) {
    const value = values[flag.name]
    if (value === undefined) continue
    fields[toCamelCase(flag.name)] = toValue(flag, value)
  }
  const secrets = command.flags
    .filter(({ name, isSecret }) => isSecret === true && values[name] === '-')
    .sort((one, other) => order.indexOf(one.name) - order.indexOf(other.name))
    .map(({ name }) => ({ flag: name, field: toCamelCase(name) }))
  const isJson = json || values.json === true
  if (command.method === 'GET' || command.method === 'DELETE') {
    const query = new URLSearchParams(
      Object.entries(fields).map(([name, value]) => [name, String(value)]),
    ).toString()
    const asked = query === '' ? path : `${path}?${query}`
    return { kind: 'call', command, json: isJson, path: asked, body: null, secrets: [] }
  }
  const hasBody = command.flags.length > 0 || command.placeFields !== undefined
  const body = hasBody ? fields : null
  return { kind: 'call', command, json: isJson, path, body, secrets }
}

function parseSetup(args: readonly string[], json: boolean): Invocation {
  const { values, positionals, order } = readFlags(setupCommand, args)
  const [surplus] = positionals
  if (surplus !== undefined) throw wrong(setupCommand, 'it takes no argument without a flag')
  for (const flag of tokenFlags.keys()) {
    if (values[flag] === undefined || values[flag] === '-') continue
    // The value is not repeated: it is on the process list already, and need not be in a log too.
    throw wrong(setupCommand, `--${flag} takes only -, which reads the token from standard input`)
  }
  const text = (name: string) => (typeof values[name] === 'string' ? values[name] : null)
  const fromInput = order.flatMap((flag) => tokenFlags.get(flag) ?? [])
  const isJson = json || values.json === true
  const start = { email: text('email'), timezone: text('timezone'), fromInput, json: isJson }
  return { kind: 'setup', start }
}

function parseStoreCopy([verb, ...args]: readonly string[], json: boolean): Invocation {
  if (verb !== storeCopy.verb) {
    const isAbsent = verb === undefined || verb.startsWith('-')
    const problem = isAbsent ? `"${storeCopy.noun}" needs a verb` : `there is no "store ${verb}"`
    throw new UsageError(problem, nounHelp(storeCopy.noun))
  }
  const { values, positionals } = readFlags(storeCopy, args)
  // Neither is repeated: it may be a URL with a password.
  if (positionals.length > 0) throw wrong(storeCopy, 'it takes no argument without a flag')
  if (values.to !== undefined && values.to !== '-') {
    throw wrong(storeCopy, '--to takes only -, which reads the URL from standard input')
  }
  const isJson = json || values.json === true
  return { kind: 'store-copy', start: { fromInput: values.to === '-', json: isJson } }
}

function parseExport(args: readonly string[]): Invocation {
  const { values, positionals } = readFlags(exportCommand, args)
  const [surplus] = positionals
  if (surplus !== undefined) throw wrong(exportCommand, `"${surplus}" is one argument too many`)
  const text = (name: string) => (typeof values[name] === 'string' ? values[name] : null)
  const account = text('account')
  if (account === null || account === '') throw wrong(exportCommand, '--account is missing')
  const format = exportFormats.find((one) => one === text('format'))
  if (format === undefined) {
    throw wrong(exportCommand, `--format must be ${exportFormats.join(', ')}`)
  }
  const start = {
    account,
    format,
    from: text('from'),
    to: text('to'),
    key: text('key'),
    baseUrl: text('base-url'),
    hasBom: values.bom === true,
    isForSpreadsheet: values.spreadsheet === true,
  }
  return { kind: 'export', start }
}

function parseConformance(args: readonly string[], json: boolean): Invocation {
  const { values, positionals } = readFlags(conformanceCommand, args)
  // It is not repeated: it may be the key.
  if (positionals.length > 0) throw wrong(conformanceCommand, 'it takes no argument without a flag')
  const start = toConformanceStart(values, json)
  if (typeof start === 'string') throw wrong(conformanceCommand, start)
  return { kind: 'conformance', start }
}

function parseSandboxStart(args: readonly string[], json: boolean): Invocation {
  const { values, positionals } = readFlags(sandboxStart, args)
  const [surplus] = positionals
  if (surplus !== undefined) {
    throw wrong(sandboxStart, `"${surplus}" is one argument too many`)
  }
  const ports: Partial<Record<Provider, number>> = {}
  for (const provider of providerNames) {
    const name = portFlag(provider)
    ports[provider] = toPort(
      sandboxStart,
      { name, text: values[name] },
      factsOf(provider).sandboxPort,
    )
  }
  const seed = typeof values.seed === 'string' ? values.seed : null
  const webhooksTo = readWebhooksTo(values[webhookFlag])
  return { kind: 'sandbox', start: { ports, seed, webhooksTo, json: json || values.json === true } }
}

function readWebhooksTo(text: string | true | undefined): string | null {
  if (text === undefined) return null
  const url = typeof text === 'string' ? URL.parse(text) : null
  if (url !== null && ['http:', 'https:'].includes(url.protocol)) {
    return (url.origin + url.pathname).replace(/\/+$/, '')
  }
  throw wrong(sandboxStart, `--${webhookFlag} must be an http or https URL`)
}

function parseListen(args: readonly string[], json: boolean): Invocation {
  const { values, positionals } = readFlags(webhooksListen, args)
  const [surplus] = positionals
  if (surplus !== undefined) throw wrong(webhooksListen, `"${surplus}" is one argument too many`)
  const start = readListenStart(values, json || values.json === true)
  if (typeof start === 'string') throw wrong(webhooksListen, start)
  if (start.user === null) return { kind: 'listen-by-key', start }
  const port = toPort(webhooksListen, { name: 'port', text: values.port }, 0)
  return { kind: 'listen', start: { user: start.user, port, json: start.json } }
}

function toPort(
  command: LocalCommand,
  { name, text }: { readonly name: string; readonly text: string | true | undefined },
  fallback: number,
): number {
  if (text === undefined) return fallback
  const number = typeof text === 'string' && /^\d{1,5}$/.test(text) ? Number(text) : -1
  if (number >= 0 && number <= 65_535) return number
  throw wrong(command, `--${name} must be a port from 0 to 65535`)
}

function parseMcpDoctor(args: readonly string[], json: boolean): Invocation {
  // Its verb looks like a flag, so that `doctor --key - --mcp URL` and `--mcp=URL` mean the same.
  const { values, positionals } = readFlags(mcpDoctor, args, ['mcp'])
  const [surplus] = positionals
  if (surplus !== undefined) throw wrong(mcpDoctor, `"${surplus}" is one argument too many`)
  const { mcp, key } = values
  const url = typeof mcp === 'string' && URL.canParse(mcp) ? new URL(mcp) : null
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    throw wrong(mcpDoctor, '--mcp must be an http or https URL')
  }
  const start = { url: url.href, key: typeof key === 'string' ? key : null }
  return { kind: 'mcp-doctor', start: { ...start, json: json || values.json === true } }
}

/** The value to send: digits become a number; the server refuses anything else. */
function toValue(flag: Pick<Flag, 'isNumber' | 'isList'>, value: string | true): Value {
  if (flag.isList === true && typeof value === 'string') return value.split(',')
  const isNumber = flag.isNumber === true && typeof value === 'string' && /^\d{1,9}$/.test(value)
  return isNumber ? Number(value) : value
}

function readFlags(command: Words, args: readonly string[], more: readonly string[] = []) {
  const options: Record<string, { type: 'string' | 'boolean' }> = {
    json: { type: 'boolean' },
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
    const order = parsed.tokens.flatMap((token) => (token.kind === 'option' ? [token.name] : []))
    return { values, positionals: parsed.positionals, order }
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    throw wrong(command, describeRefusal(error.message))
  }
}

function describeRefusal(message: string): string {
  const flag = /^Option '(--[\w-]+)' argument is ambiguous/.exec(message)?.[1]
  // The parser's first sentence names the flag; the rest explains its syntax at length.
  if (flag === undefined) return message.split(/\.\s|\n/)[0] ?? message
  return `${flag} has no value; one that begins with a dash is written ${flag}=-odd-`
}

/** `--amount -4.50` is one value to the user; the parser needs `--amount=-4.50`. */
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

/** Fills the placeholders of the path; the remaining arguments become fields of the body. */
function placeArguments(
  command: Command,
  positionals: readonly string[],
): { readonly path: string; readonly fields: Record<string, Value> } {
  const missing = command.places[positionals.length]
  if (missing !== undefined) throw wrong(command, `${missing} is missing`)
  const surplus = positionals[command.places.length]
  if (surplus !== undefined) throw wrong(command, `"${surplus}" is one argument too many`)
  const queue = [...positionals]
  const path = command.path.replaceAll('{}', () => {
    const text = queue.shift() ?? ''
    // A URL would resolve the dots as path segments, and an empty name would be another path.
    if (['', '.', '..'].includes(text)) throw wrong(command, `"${text}" is not a valid name`)
    return encodeURIComponent(text)
  })
  const fields: Record<string, Value> = {}
  for (const field of command.placeFields ?? []) {
    fields[field] = toValue({ isNumber: true }, queue.shift() ?? '')
  }
  return { path, fields }
}

function wrong(command: Words, message: string): UsageError {
  return new UsageError(message, usageLine(command))
}

/**
 * Rewords a line of the server's `details` for the command line: `endUserId: is required` refers to a flag,
 * or to an argument without a name.
 */
export function toFlagWords(command: Words & Pick<Command, 'placeFields'>, line: string): string {
  const [, field = '', problem = ''] = /^(\w+): (.+)$/s.exec(line) ?? []
  const flag = command.flags.find(({ name }) => toCamelCase(name) === field)
  if (flag !== undefined) {
    const isSurplus = problem === 'is an unknown field'
    return `--${flag.name}: ${isSurplus ? 'does not go with the other options' : problem}`
  }
  const fields = command.placeFields ?? []
  const place = command.places[command.places.length - fields.length + fields.indexOf(field)]
  return fields.includes(field) && place !== undefined ? `${place}: ${problem}` : line
}
