/**
 * Handles uncaught errors: one fatal line without secrets, a metric, and a drain that ends the process with
 * exit code 1, so that its supervisor starts another. After such an error the state of the process cannot be
 * trusted; a second one ends it at once.
 */
import type { Log } from '#telemetry/log.ts'
import { toLoggedError } from '#telemetry/log-error.ts'
import type { Metrics } from '#telemetry/metrics.ts'
import { makeRedactor } from '#telemetry/redact.ts'

export interface UncaughtErrorOptions {
  /** Null until the log is made; the line then goes to standard error. */
  readonly log: () => Log | null
  readonly metrics: Metrics
  /** Drains and ends the process with 1. A drain already in progress continues, and ends with 1 too. */
  readonly stop: () => void
}

/** A drain takes 25 s and closing a few more; after this the process ends with whatever is open. */
const deadlineMs = 32_000

/** Installs the handlers for the lifetime of the process. */
export function handleUncaughtErrors({ log, metrics, stop }: UncaughtErrorOptions): void {
  let isSecond = false
  const onError = (error: unknown, origin: string) => {
    metrics.backgroundFailed(origin)
    logError(log(), { origin, err: error })
    if (isSecond) process.exit(1)
    isSecond = true
    setTimeout(() => process.exit(1), deadlineMs).unref()
    stop()
  }
  // Node reports unhandled rejections here too, with their own origin.
  process.on('uncaughtException', onError)
  // When the terminal or pipe is closed, output is lost, but the service continues.
  process.stdout.on('error', () => metrics.backgroundFailed('stdout'))
  process.stderr.on('error', () => metrics.backgroundFailed('stderr'))
}

function logError(log: Log | null, { origin, err }: { origin: string; err: unknown }): void {
  const sentence = 'uncaught error: the process drains and exits'
  if (log !== null) {
    log.fatal({ origin, err }, sentence)
    return
  }
  const line = JSON.stringify({ level: 'fatal', origin, err: toLoggedError(err), msg: sentence })
  process.stderr.write(`${makeRedactor()(line)}\n`)
}
