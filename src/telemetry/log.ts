/**
 * The log: JSON lines on stdout, or coloured lines on a terminal; every line is redacted before it is
 * written. It starts no worker, and of errors it prints only the parts that log-error.ts selects.
 */
import { type DestinationStream, destination, type Logger, type LoggerOptions, pino } from 'pino'
import { toLoggedError } from './log-error.ts'
import { makeRedactor } from './redact.ts'

export type LogLevel = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent'

/** Fields first, then the sentence: `log.warn({ provider }, 'the provider refused our credentials')`. */
export type Log = Logger

export interface LogOptions {
  readonly level: LogLevel
  /** For a terminal: what makes a line of an entry (`loadPrettier`). Absent: JSON lines. */
  readonly toPretty?: ToPretty
  /** Exact values that must never appear, e.g. the admin token; patterns find other secrets. */
  readonly secrets?: readonly string[]
  /** Where finished lines go; stdout when absent. */
  readonly destination?: DestinationStream
  /** A line could not be written, e.g. the pipe is closed or the disk is full. */
  readonly onFailure?: () => void
}

type ToPretty = (entry: string) => string

/** Loads what makes one readable line of each entry; `colorize` for a terminal. */
export async function loadPrettier({
  colorize,
}: {
  readonly colorize: boolean
}): Promise<ToPretty> {
  const { prettyFactory } = await import('pino-pretty')
  return prettyFactory({ colorize, singleLine: true, translateTime: 'SYS:HH:MM:ss.l' })
}

/** Makes the log. Of an error under `err` (or `error`) only type, message, code, stack and causes go out. */
export function makeLog(options: LogOptions): Log {
  const { toPretty } = options
  const redact = makeRedactor(options.secrets)
  const settings: LoggerOptions = {
    level: options.level,
    base: null,
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label) => ({ level: label }) },
    serializers: { err: toLoggedError, error: toLoggedError },
    hooks: { streamWrite: toPretty !== undefined ? (line) => calm(redact(line)) : redact },
  }
  // Synchronous: the last line before a crash must not be lost.
  const target = options.destination ?? openStdout(options.onFailure)
  if (toPretty === undefined) return pino(settings, target)
  return pino(settings, { write: (line) => target.write(toPretty(line)) })
}

/** Buffered while the disk is full, until writes succeed again. */
const maxWaitingBytes = 1024 * 1024

/** Lines that cannot be written are dropped; a failing log must not end the process. */
function openStdout(onFailure: () => void = () => {}): DestinationStream {
  const stdout = destination({ fd: 1, sync: true, maxLength: maxWaitingBytes })
  stdout.on('error', onFailure)
  stdout.on('drop', onFailure)
  return stdout
}

/** Control characters in a path or name could control the terminal: dots replace them (JSON escapes them). */
function calm(line: string): string {
  return line.replace(/\\u00[01][0-9a-f]|[\u007f-\u009f]/gi, '·')
}
