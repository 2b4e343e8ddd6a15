/**
 * Reads what must not stand on a command line: secrets from standard input, one line each, or from a
 * terminal, which then shows nothing of them.
 */
import { Refusal } from './server.ts'

/** Standard input: a pipe, or a terminal that can be set not to show what is typed. */
export interface SecretInput extends AsyncIterable<Uint8Array | string> {
  readonly isTTY?: boolean
  setRawMode?(isRaw: boolean): unknown
}

export interface Question {
  readonly text: string
  /** Nothing of the answer is shown. */
  readonly isSecret: boolean
  /** What Ctrl-C and Ctrl-D are answered with; absent: that nothing was changed. */
  readonly ifStopped?: string
}

/** Reads one line after the other; what was sent beyond a line is kept for the next one. */
export interface LineReader {
  /** True for a terminal: `ask` then shows the question and waits for a person. */
  readonly isTerminal: boolean
  /**
   * The next line without its end, or a whole PEM text, which has several. Null at the end of the input.
   * @throws Refusal for Ctrl-C, for Ctrl-D at the beginning of a line, and for a line that is too long.
   */
  ask(question: Question): Promise<string | null>
  /** True when more text than was asked for has arrived already; never for a terminal. Waits for nothing. */
  hasMore(): boolean
  /** Until the next question a terminal shows what is typed, and Ctrl-C is a signal again. */
  pause(): void
  /** Closes the input, so that nothing waits for it; a terminal shows again what is typed. */
  close(): Promise<void>
}

const maxLineLength = 16_384

/** @param show writes to the terminal, usually on standard error. */
export function makeLineReader(input: SecretInput, show: (text: string) => void): LineReader {
  const source = readTexts(input)
  const rest = { text: '' }
  const isTerminal = input.isTTY === true && input.setRawMode !== undefined
  let isRaw = false
  const pause = () => {
    if (isRaw) input.setRawMode?.(false)
    isRaw = false
  }
  return {
    isTerminal,
    async ask(question) {
      if (!isTerminal) return readWhole(() => readLine(source, rest))
      // Before the question and until the end: the terminal would show what is typed ahead.
      if (!isRaw) input.setRawMode?.(true)
      isRaw = true
      show(question.text)
      try {
        return await readWhole(() => readKeys(source, rest, { ...question, show }))
      } finally {
        show('\n')
      }
    },
    hasMore: () => !isTerminal && rest.text.trim() !== '',
    pause,
    async close() {
      pause()
      await source.return(undefined)
    },
  }
}

/**
 * The secrets in this order: lines of standard input, or answers on a terminal.
 * @param names what each is called, e.g. `--user-token`.
 * @throws Refusal when one is missing, and when there are more lines: a token that is broken over two lines
 *   is not used by half.
 */
export async function readSecrets(
  input: SecretInput,
  names: readonly string[],
  show: (text: string) => void,
): Promise<readonly string[]> {
  const reader = makeLineReader(input, show)
  const secrets: string[] = []
  try {
    for (const name of names) {
      const secret = await reader.ask({ text: `${name}: `, isSecret: true })
      if (secret === null || secret === '') throw missing(names, secrets.length)
      secrets.push(secret)
    }
    if (reader.hasMore()) throw tooMany(names)
    return secrets
  } finally {
    await reader.close()
  }
}

function missing(names: readonly string[], found: number): Refusal {
  if (names.length === 1) {
    const message = `Standard input is empty; send the value of ${names[0]} to it, on one line`
    return new Refusal({ error: { message } })
  }
  const message = `Standard input ends after ${found} of ${names.length} secrets; send one line each for ${names.join(', ')}`
  return new Refusal({ error: { message } })
}

/** The refusal of more lines than secrets. */
export function tooMany(names: readonly string[]): Refusal {
  const message = `Standard input has more than one line for each of ${names.join(', ')}; is a secret broken over two lines? Send each on one line`
  return new Refusal({ error: { message } })
}

/** A line, or the lines of a PEM text to its end (RFC 7468). */
async function readWhole(read: () => Promise<string | null>): Promise<string | null> {
  const first = await read()
  if (first === null || !first.includes('-----BEGIN') || first.includes('-----END')) return first
  const lines = [first]
  for (let length = first.length; ; ) {
    const line = await read()
    if (line === null) return lines.join('\n')
    lines.push(line)
    length += line.length
    refuseLong(length)
    if (line.includes('-----END')) return lines.join('\n')
  }
}

type Texts = AsyncGenerator<string, void, undefined>

async function* readTexts(input: SecretInput): Texts {
  // A character may be divided between two chunks.
  const decoder = new TextDecoder()
  for await (const chunk of input) {
    yield typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true })
  }
}

interface Rest {
  text: string
}

async function readLine(source: Texts, rest: Rest): Promise<string | null> {
  while (!rest.text.includes('\n')) {
    refuseLong(rest.text.length)
    const { value, done } = await source.next()
    if (done === true) {
      const last = rest.text
      rest.text = ''
      return last === '' ? null : last
    }
    rest.text += value
  }
  const [line = '', ...others] = rest.text.split('\n')
  rest.text = others.join('\n')
  refuseLong(line.length)
  return line.replace(/\r$/, '')
}

const interrupt = '\x03'
const endOfInput = '\x04'
const eraseLine = '\x15'

/** The terminal passes on every key: it neither shows it nor acts on it. */
async function readKeys(
  source: Texts,
  rest: Rest,
  question: Question & { readonly show: (text: string) => void },
): Promise<string | null> {
  const show = question.isSecret ? () => {} : question.show
  const line: string[] = []
  for (;;) {
    const keys = [...rest.text.replaceAll(/\x1b\[[\d;]*[A-Za-z~]/g, '')]
    for (const [index, key] of keys.entries()) {
      if (key === interrupt || (key === endOfInput && line.length === 0)) throw stopped(question)
      if (key === '\r' || key === '\n') {
        rest.text = keys.slice(index + 1).join('')
        return line.join('')
      }
      applyKey(line, key, show)
      refuseLong(line.length)
    }
    const { value, done } = await source.next()
    if (done === true) return line.length === 0 ? null : line.join('')
    rest.text = value
  }
}

/** Changes the line. */
function applyKey(line: string[], key: string, show: (text: string) => void): void {
  if (key === '\x7f' || key === '\b') {
    if (line.pop() !== undefined) show('\b \b')
  } else if (key === eraseLine) {
    show('\b \b'.repeat(line.splice(0).length))
  } else if (!/\p{Cc}/u.test(key)) {
    show(key)
    line.push(key)
  }
}

function stopped({ ifStopped = 'Stopped; nothing was changed' }: Question): Refusal {
  return new Refusal({ error: { message: ifStopped } })
}

function refuseLong(length: number): void {
  if (length <= maxLineLength) return
  const message = `A line of standard input has more than ${maxLineLength} characters`
  throw new Refusal({ error: { message } })
}
