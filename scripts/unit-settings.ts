/**
 * Prints the settings of the unit (`EnvironmentFile=`) as assignments for a shell, for deploy/tributary.sh.
 * The file is read as systemd reads it (systemd.exec(5), EnvironmentFile): other than in `.env`, a `#` is a
 * comment only at the beginning of a line, and backslashes escape. What the caller's environment has takes
 * precedence and is not printed.
 */
import { readFileSync } from 'node:fs'
import { errorCode } from '#kernel/error-code.ts'

/** The states of systemd's reader (`parse_env_file`), which goes through the characters one by one. */
type State =
  | 'before'
  | 'comment'
  | 'name'
  | 'value start'
  | 'value'
  | 'value escape'
  | 'single'
  | 'double'
  | 'double escape'

interface Reader {
  state: State
  name: string
  value: string
  /** The length of the value up to its last character that is not an unquoted blank. */
  kept: number
  readonly settings: Record<string, string>
}

/** No other blank is one for systemd: a mark at the file's beginning (BOM) belongs to the first name. */
const isBlank = (c: string) => ' \t\n\r'.includes(c)
const isLineEnd = (c: string) => c === '\n' || c === '\r'

function add(reader: Reader, text: string, isKept = true): void {
  reader.value += text
  if (isKept) reader.kept = reader.value.length
}

function warnOfComment(): void {
  process.stderr.write(
    `tributary: a comment in ${process.argv[2]} ends with a backslash: systemd before version 254 takes the next line for part of it; remove the backslash\n`,
  )
}

function endSetting(reader: Reader): void {
  const name = reader.name.replace(/[ \t]+$/, '')
  if (/^[A-Za-z_]\w*$/.test(name)) reader.settings[name] = reader.value.slice(0, reader.kept)
  Object.assign(reader, { state: 'before', name: '', value: '', kept: 0 })
}

/** What a character does in each state. */
const steps: Record<State, (reader: Reader, c: string) => void> = {
  before(reader, c) {
    if (c === '#' || c === ';') reader.state = 'comment'
    else if (!isBlank(c)) Object.assign(reader, { state: 'name', name: c })
  },
  comment(reader, c) {
    if (isLineEnd(c)) {
      if (reader.name === '\\') warnOfComment()
      Object.assign(reader, { state: 'before', name: '' })
    } else reader.name = c
  },
  name(reader, c) {
    // A line without `=` is no setting.
    if (isLineEnd(c)) reader.state = 'before'
    else if (c === '=') reader.state = 'value start'
    else reader.name += c
  },
  'value start'(reader, c) {
    if (isLineEnd(c)) endSetting(reader)
    else if (c === "'") reader.state = 'single'
    else if (c === '"') reader.state = 'double'
    else if (!isBlank(c)) {
      reader.state = 'value'
      steps.value(reader, c)
    }
  },
  value(reader, c) {
    if (isLineEnd(c)) endSetting(reader)
    else if (c === '\\') {
      // Blanks before it stay, also where it escapes the end of the last line.
      Object.assign(reader, { state: 'value escape', kept: reader.value.length })
    } else add(reader, c, !isBlank(c))
  },
  'value escape'(reader, c) {
    reader.state = 'value'
    if (!isLineEnd(c)) add(reader, c)
  },
  single(reader, c) {
    if (c === "'") reader.state = 'value start'
    else add(reader, c)
  },
  double(reader, c) {
    if (c === '"') reader.state = 'value start'
    else if (c === '\\') reader.state = 'double escape'
    else add(reader, c)
  },
  'double escape'(reader, c) {
    reader.state = 'double'
    if ('"\\`$'.includes(c)) add(reader, c)
    else if (c !== '\n') add(reader, `\\${c}`)
  },
}

function parseUnitSettings(text: string): Record<string, string> {
  const reader: Reader = { state: 'before', name: '', value: '', kept: 0, settings: {} }
  for (const c of text) steps[reader.state](reader, c)
  // The last line may have no end.
  if (!['before', 'comment', 'name'].includes(reader.state)) endSetting(reader)
  return reader.settings
}

/** As a shell reads it back: nothing within single quotes has a meaning. */
const quote = (value: string) => `'${value.replaceAll("'", `'\\''`)}'`

/** Null, with one line of why, when the file cannot be read: it is a folder, say. */
function readSettings(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const code = errorCode(error) || String(error)
    process.stderr.write(`tributary: ${path} cannot be read (${code})\n`)
    process.exitCode = 1
    return null
  }
}

const text = readSettings(process.argv[2] ?? '') ?? ''
for (const [name, value] of Object.entries(parseUnitSettings(text))) {
  if (process.env[name] === undefined) process.stdout.write(`export ${name}=${quote(value)}\n`)
}
