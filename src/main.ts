/**
 * Starts one process: reads the configuration, builds the app, listens, prints where it is, and drains on SIGTERM.
 * Whatever keeps it from starting is one clear line and exit 1.
 */

import { systemClock } from '#kernel/time.ts'
import type { ProviderAccess } from '#providers/adapters.ts'
import { makeSandboxControl } from '#sandbox/control.ts'
import { type Demo, prepareDemo } from '#sandbox/demo.ts'
import { type Sandbox, startSandbox } from '#sandbox/start.ts'
import { type App, openApp } from './app.ts'
import { type Config, readConfig } from './config.ts'
import { listSecretTexts } from './settings/secret-texts.ts'
import { loadSecrets } from './settings/secrets.ts'
import { type Log, makeLog } from './telemetry/log.ts'
import { makeMetrics } from './telemetry/metrics.ts'
import { describeFailure, printWelcome } from './welcome.ts'

/** What there is to be stopped so far. */
interface Running {
  app: App | null
  sandbox: Sandbox | null
  log: Log | null
  stopping: boolean
}

async function start(running: Running): Promise<void> {
  const config = readConfig()
  const secrets = await loadSecrets(config)
  const log = makeLog({
    level: config.logLevel,
    pretty: process.stdout.isTTY === true,
    secrets: listSecretTexts(config, secrets),
  })
  running.log = log
  for (const warning of [...config.warnings, ...secrets.warnings]) log.warn(warning)
  const clock = systemClock
  const sandbox = config.mode === 'sandbox' ? await startSandbox({ clock }) : null
  const metrics = makeMetrics()
  const app = await openApp({
    config,
    secrets,
    access: sandbox?.access ?? configuredAccess(config),
    clock,
    log,
    metrics,
    checkReplies: false,
    ...(sandbox === null
      ? {}
      : { adminExtension: (parts) => makeSandboxControl({ ...parts, sandbox }) }),
  })
  running.app = app
  running.sandbox = sandbox
  const { origins, adminUrl } = await app.listen()
  const demo = sandbox === null ? null : await makeDemo(app, sandbox, config)
  printWelcome({ config, origins, adminUrl, adminTokenFile: secrets.adminTokenFile, demo })
}

function makeDemo(app: App, sandbox: Sandbox, config: Config): Promise<Demo> {
  const { store, links } = app
  return prepareDemo({ store, links, sandbox, clock: systemClock, folder: config.storeDir })
}

/** The providers' access with its secrets opened, for the adapters alone. */
function configuredAccess(config: Config): ProviderAccess {
  const { fiskil, akahu, snaptrade } = config.providers
  return {
    fiskil: fiskil && {
      baseUrl: fiskil.baseUrl,
      clientId: fiskil.clientId,
      clientSecret: fiskil.clientSecret.reveal(),
      version: fiskil.version,
    },
    akahu: akahu && {
      baseUrl: akahu.baseUrl,
      appToken: akahu.appToken.reveal(),
      appSecret: akahu.appSecret.reveal(),
    },
    snaptrade: snaptrade && {
      baseUrl: snaptrade.baseUrl,
      clientId: snaptrade.clientId,
      consumerKey: snaptrade.consumerKey.reveal(),
    },
  }
}

/**
 * The first signal drains, a second one ends the process at once. It is heard from the first moment on: as the first
 * process of a container nothing else would end this one.
 */
function stopOnSignal(running: Running): void {
  const stop = (signal: NodeJS.Signals) => {
    const { app, sandbox, log } = running
    if (running.stopping) process.exit(1)
    running.stopping = true
    // Nothing is served yet, and the store survives an end at any moment.
    if (app === null) process.exit(0)
    log?.info({ signal }, 'stopping: requests in flight may finish')
    app
      .close()
      .then(() => sandbox?.close())
      .then(
        () => process.exit(0),
        (error: unknown) => {
          log?.fatal({ err: error }, 'the stop failed')
          process.exit(1)
        },
      )
  }
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
}

const running: Running = { app: null, sandbox: null, log: null, stopping: false }
stopOnSignal(running)
start(running).catch((error: unknown) => {
  // A stop in the middle of the start takes away what was still being prepared: the stop goes on and ends the process.
  if (running.stopping) return
  process.stderr.write(`tributary: ${describeFailure(error)}\n`)
  process.exit(1)
})
