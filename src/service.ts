/**
 * One process of the service: reads the configuration, builds the app, listens, prints its addresses, and
 * drains on SIGTERM. Anything that prevents the start is one clear line and exit code 1.
 */

import { type App, openApp } from '#app/app.ts'
import { findCommand } from '#app/command.ts'
import { makeCodeCheck } from '#app/own-code.ts'
import { findCollect, settleMemoryLater } from '#app/settle-memory.ts'
import { handleUncaughtErrors } from '#app/uncaught-errors.ts'
import { describeStartFailure, lookForUsers, printWelcome } from '#app/welcome.ts'
import { demandFiles, readOpenFiles } from '#doors/listener/connection-limits.ts'
import { type Clock, systemClock } from '#kernel/time.ts'
import type { Demo } from '#sandbox/demo.ts'
import type { Sandbox } from '#sandbox/start.ts'
import type { Config } from '#settings/compose.ts'
import { openAccess } from '#settings/open-access.ts'
import { listSecretTexts } from '#settings/secret-texts.ts'
import { loadSecrets, type Secrets } from '#settings/secrets.ts'
import { readOwnConfig, readStartInfo } from '#src/config.ts'
import { version } from '#src/version.ts'
import { makeSealer } from '#store/seal.ts'
import { type Log, loadPrettier, makeLog } from '#telemetry/log.ts'
import { type Metrics, makeMetrics } from '#telemetry/metrics.ts'
import { noTracing, type Tracing } from '#telemetry/tracing.ts'

/** What has been started and must be stopped. */
interface Running {
  app: App | null
  sandbox: Sandbox | null
  log: Log | null
  readonly metrics: Metrics
  tracing: Tracing
  stopping: boolean
  exitCode: 0 | 1
}

/** The emulators and their people; loaded in sandbox mode alone. */
async function openSandbox(clock: Clock) {
  const [{ startOwnSandbox }, { makeSandboxControl }, { prepareDemo }] = await Promise.all([
    import('#sandbox/start.ts'),
    import('#sandbox/control.ts'),
    import('#sandbox/demo.ts'),
  ])
  return { sandbox: await startOwnSandbox(clock), makeSandboxControl, prepareDemo }
}

/** OpenTelemetry; loaded where a collector is configured alone. */
async function openTracing(
  { otlp, otlpHeaders }: Config,
  log: Log,
  running: Running,
): Promise<Tracing> {
  if (otlp === null) return noTracing
  const { openOtlp } = await import('#telemetry/otlp/open-otlp.ts')
  const { metrics } = running
  return openOtlp({
    ...otlp,
    headers: otlpHeaders?.reveal() ?? {},
    version,
    clock: systemClock,
    // The last metrics are sent after the store was closed.
    async readMetrics() {
      const backlog = running.stopping ? undefined : running.app?.backlog
      return [...metrics.read(), ...((await backlog?.read()) ?? [])]
    },
    onFailure(detail) {
      metrics.backgroundFailed('otlp')
      log.warn({ detail }, 'OpenTelemetry data could not be sent')
    },
    onOddAnswer: (detail) =>
      log.warn({ detail }, 'OpenTelemetry data was taken, but the answer is not OTLP'),
  })
}

async function start(running: Running): Promise<void> {
  demandFiles(readOpenFiles())
  const config = readOwnConfig()
  const secrets = await loadSecrets(config)
  const log = makeLog({
    level: config.logLevel,
    ...(process.stdout.isTTY === true ? { toPretty: await loadPrettier({ colorize: true }) } : {}),
    secrets: listSecretTexts(config, secrets),
    onFailure: () => running.metrics.backgroundFailed('log'),
  })
  running.log = log
  for (const warning of [...config.warnings, ...secrets.warnings]) log.warn(warning)
  const clock = systemClock
  running.tracing = await openTracing(config, log, running)
  const made = config.mode === 'sandbox' ? await openSandbox(clock) : null
  const sandbox = made?.sandbox ?? null
  const app = await openApp({
    config,
    secrets,
    access: sandbox?.access ?? openAccess(config),
    clock,
    log,
    metrics: running.metrics,
    tracing: running.tracing,
    checkReplies: false,
    checkCode: makeCodeCheck(clock),
    onUnusable(error) {
      log.fatal({ err: error }, 'the process cannot go on with its settings: it drains and exits')
      stopOnFailure(running)
    },
    ...(made === null
      ? {}
      : {
          madeUpPeople: made.sandbox.person('healthy'),
          adminExtension: (options) =>
            made.makeSandboxControl({ ...options, sandbox: made.sandbox }),
        }),
  })
  running.app = app
  running.sandbox = sandbox
  const { origins, adminUrl, localUrl } = await app.listen()
  sandbox?.sendWebhooksTo(localUrl)
  const demo = made !== null && config.role !== 'worker' ? await makeDemo(app, made, secrets) : null
  const command = findCommand(readStartInfo())
  const { adminTokenFile } = secrets
  const users = demo === null ? await lookForUsers(app.store) : 'some'
  printWelcome({ config, origins, adminUrl, adminTokenFile, command, demo, users })
  settleMemoryLater(findCollect())
}

function makeDemo(
  { store, actions, connections }: App,
  { sandbox, prepareDemo }: Awaited<ReturnType<typeof openSandbox>>,
  { encryptionKeys }: Secrets,
): Promise<Demo> {
  const secret = makeSealer(encryptionKeys.reveal()).derive('demo')
  return prepareDemo({ store, actions, connections, sandbox, secret })
}

/** Drains, closes everything and ends the process. The store stays consistent whenever the process ends. */
function stop(running: Running): void {
  const { app, sandbox, log, tracing } = running
  if (running.stopping) return
  running.stopping = true
  // Nothing is served yet.
  if (app === null) process.exit(running.exitCode)
  app
    .close()
    .then(() => sandbox?.close())
    .then(() => tracing.close())
    .then(
      () => process.exit(running.exitCode),
      (error: unknown) => {
        log?.fatal({ err: error }, 'the stop failed')
        process.exit(1)
      },
    )
}

/**
 * The first signal drains, a second one ends the process at once. The handlers are installed first: as
 * process 1 of a container, the process would otherwise ignore the signal.
 */
function stopOnSignal(running: Running): void {
  const onSignal = (signal: NodeJS.Signals) => {
    if (running.stopping) process.exit(1)
    running.log?.info({ signal }, 'stopping: requests in flight may finish')
    stop(running)
  }
  const { byNpm, starter } = readStartInfo()
  if (byNpm || starter !== null) endWithParent(() => onSignal('SIGTERM'), starter ?? process.ppid)
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
  // The terminal was closed.
  process.on('SIGHUP', onSignal)
}

const parentCheckMs = 250

/**
 * Calls `end` once the parent is gone. npm runs the service through a shell: a signal to npm ends the shell,
 * which forwards nothing. The same goes for the starter where it stays as the parent (below Node 22.15).
 * Without both, a service that is started by hand in the background outlives its shell.
 */
function endWithParent(end: () => void, parent: number): void {
  const watch = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(watch)
    end()
  }, parentCheckMs)
  watch.unref()
}

function stopOnFailure(running: Running): void {
  running.exitCode = 1
  stop(running)
}

const running: Running = {
  app: null,
  sandbox: null,
  log: null,
  metrics: makeMetrics(),
  tracing: noTracing,
  stopping: false,
  exitCode: 0,
}
handleUncaughtErrors({
  log: () => running.log,
  metrics: running.metrics,
  stop: () => stopOnFailure(running),
})
stopOnSignal(running)
// Without this, a start that waits for what never comes would look like a stop.
process.once('beforeExit', () => {
  process.stderr.write('tributary: the start ended before the service was ready: report this\n')
  process.exit(1)
})
start(running).catch((error: unknown) => {
  // A stop during the start closes what is being opened: that failure is no failed start.
  if (running.stopping) return
  process.stderr.write(`tributary: ${describeStartFailure(error)}\n`)
  process.exit(1)
})
