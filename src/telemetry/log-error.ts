/**
 * Formats an error for the log: type, message, code, a few stack frames and its causes, all bounded. Other
 * fields are not copied: libraries put requests, answers and rows into them (a database's `detail`), and
 * those can contain money data.
 */

export interface LoggedError {
  readonly type: string
  readonly message: string
  readonly code?: string | number
  readonly status?: number
  readonly stack?: readonly string[]
  readonly cause?: LoggedError
  readonly errors?: readonly LoggedError[]
}

const maxDepth = 5
const maxMessage = 500
const maxFrames = 8
const maxErrors = 5

/** Any thrown value, an Error or not, in a form that can be logged. */
export function toLoggedError(error: unknown, depth = 1): LoggedError {
  if (!(error instanceof Error)) return { type: typeof error, message: cut(describe(error)) }
  const code = read(error, 'code')
  const status = read(error, 'status')
  const stack = framesOf(error)
  const deeper = depth < maxDepth
  return {
    type: error.name === 'Error' ? error.constructor.name : error.name,
    // A parser's message quotes its input, which may be a provider's answer.
    message: error instanceof SyntaxError ? 'text could not be parsed' : cut(error.message),
    ...(typeof code === 'string' || typeof code === 'number' ? { code } : {}),
    ...(typeof status === 'number' ? { status } : {}),
    ...(stack.length === 0 ? {} : { stack }),
    ...(deeper && error.cause !== undefined
      ? { cause: toLoggedError(error.cause, depth + 1) }
      : {}),
    ...(deeper && error instanceof AggregateError
      ? { errors: error.errors.slice(0, maxErrors).map((one) => toLoggedError(one, depth + 1)) }
      : {}),
  }
}

/** A thrown object may be a response body: only its kind is logged. */
function describe(thrown: unknown): string {
  return typeof thrown === 'object' && thrown !== null ? 'an object was thrown' : String(thrown)
}

function read(error: Error, name: 'code' | 'status'): unknown {
  return name in error ? (error as unknown as Record<string, unknown>)[name] : undefined
}

/** The stack starts with the message, which is logged separately: only the frames are kept. */
function framesOf(error: Error): string[] {
  if (typeof error.stack !== 'string') return []
  const lines = error.stack.split('\n', 200).map((line) => line.trim())
  return lines.filter((line) => line.startsWith('at ')).slice(0, maxFrames)
}

function cut(message: unknown): string {
  const text = String(message)
  return text.length <= maxMessage ? text : `${text.slice(0, maxMessage)}…`
}
