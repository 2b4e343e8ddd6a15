/**
 * The log: JSON lines on stdout, pretty on a terminal, every line looked over for secrets before it leaves. It starts
 * no worker and refuses to print what errors carry besides their message and cause.
 */
import { type DestinationStream, destination, type Logger, type LoggerOptions, pino } from 'pino'
import { prettyFactory } from 'pino-pretty'
import type { Config } from '../config.ts'
import { toLoggedError } from './log-error.ts'
import { makeRedactor } from './redact.ts'

/** Fields first, then the sentence: `log.warn({ provider }, 'the provider refused our credentials')`. */
export type Log = Logger

export interface LogOptions {
  readonly level: Config['logLevel']
  /** For a terminal: one coloured line per entry instead of JSON. */
  readonly pretty: boolean
  /** Exact values that must never appear, e.g. the admin token; patterns catch the rest. */
  readonly secrets?: readonly string[]
  /** Where finished lines go; stdout when absent. */
  readonly destination?: DestinationStream
}

/**
 * Makes the log of a process. Errors belong under `err` (or `error`): they are written as type, message, code, status,
 * frames and causes, nothing else of theirs.
 */
export function makeLog(options: LogOptions): Log {
  const redact = makeRedactor(options.secrets)
  const settings: LoggerOptions = {
    level: options.level,
    base: null,
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label) => ({ level: label }) },
    serializers: { err: toLoggedError, error: toLoggedError },
    hooks: { streamWrite: options.pretty ? (line) => calm(redact(line)) : redact },
  }
  // Synchronous: the last line before a crash is the one that is needed.
  const target = options.destination ?? destination({ fd: 1, sync: true })
  if (!options.pretty) return pino(settings, target)
  const colorize = options.destination === undefined
  const toPretty = prettyFactory({ colorize, singleLine: true, translateTime: 'SYS:HH:MM:ss.l' })
  return pino(settings, { write: (line) => target.write(toPretty(line)) })
}

/** A path or name from outside must not command the terminal: control characters (escaped in JSON) become dots. */
function calm(line: string): string {
  return line.replace(/\\u00[01][0-9a-f]|[\u007f-\u009f]/gi, '·')
}
