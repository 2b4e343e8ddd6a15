/**
 * What every part of a process depends on: reports, store, fast state, adapters, connections, sign-in. Each
 * is opened as the configuration says; no rule is defined here.
 */

import { createHash } from 'node:crypto'
import { makeUserActions, type UserActions } from '#auth/actions.ts'
import { makeAttempts } from '#auth/sign-in/attempts.ts'
import { makeBrowsers } from '#auth/sign-in/browsers.ts'
import { type ByMail, makeByMail } from '#auth/sign-in/by-mail.ts'
import { makePasswords } from '#auth/sign-in/password.ts'
import { makeSignIns, type SignIns } from '#auth/sign-in/sign-ins.ts'
import { makeBeginConfirmation } from '#auth/sign-in/single-use.ts'
import { type Connections, makeConnections } from '#connections/connections.ts'
import { markLost } from '#connections/mark-lost.ts'
import type { Origins } from '#contract/origins.ts'
import { openKv } from '#fast/open.ts'
import type { Kv } from '#fast/port.ts'
import type { Mailer } from '#mail/mailer.ts'
import { reconnectDueAt } from '#mail/reconnect-due.ts'
import { defaultSender, parseSmtpUrl } from '#mail/smtp-url.ts'
import { makeAdapters } from '#providers/adapters.ts'
import { makeBudget } from '#providers/budget.ts'
import { makeDayWindows, makeMemoryCalls } from '#providers/day-windows.ts'
import { type Guard, makeGuard } from '#providers/guard.ts'
import type { Adapters } from '#providers/port.ts'
import { makeReadings, type Readings } from '#providers/readings.ts'
import { makeRecentFailures, type RecentFailures } from '#providers/recent-failures.ts'
import type { Config } from '#settings/compose.ts'
import { version } from '#src/version.ts'
import { openStore } from '#store/open-store.ts'
import type { Store } from '#store/ports/store.ts'
import { makeSealer, type Sealer } from '#store/seal.ts'
import { type Backlog, makeBacklog } from '#telemetry/backlog-metrics.ts'
import { makeQueueSamples, type QueueSamples } from '#telemetry/queue-samples.ts'
import { makeReports, type Reports } from '#telemetry/reports.ts'
import { noTracing } from '#telemetry/tracing.ts'
import { makeWebhooks, type Webhooks } from '#webhooks/webhooks.ts'
import type { AppOptions } from './options.ts'
import { makeIsOurs } from './own-address.ts'

export interface Foundation {
  /** Called for each answer and mail: with port 0 they are known once the listener is bound (reading R2). */
  readonly origins: () => Origins
  readonly reports: Reports
  readonly store: Store
  /** What waits in the store, for those who watch. */
  readonly backlog: Backlog
  /** The lengths of the queues over a day; the app runs its task. */
  readonly queues: QueueSamples
  readonly kv: Kv
  readonly adapters: Adapters
  /** To be closed with the adapters. */
  readonly readings: Readings
  /** Every call to a provider passes through it. */
  readonly guard: Guard
  readonly connections: Connections
  readonly webhooks: Webhooks
  readonly signIns: SignIns
  readonly byMail: ByMail
  readonly actions: UserActions
  readonly sealer: Sealer
  /** Null: no mail server is configured. */
  readonly mailer: Mailer | null
  /** How reads and syncs failed in this process, for its doctor. */
  readonly failures: { readonly reads: RecentFailures; readonly syncs: RecentFailures }
}

/** What the files beside this one make their parts of. */
export type AssemblyOptions = AppOptions & Foundation

/** The caller closes what this opens. */
export async function openFoundation(
  options: AppOptions,
  origins: () => Origins,
): Promise<AssemblyOptions> {
  const { config, clock } = options
  const reports = makeReports(options.log, options.metrics, options.tracing ?? noTracing)
  const encryptionKeys = options.secrets.encryptionKeys.reveal()
  const sealer = makeSealer(encryptionKeys)
  const store = await openStore({
    databaseUrl: config.databaseUrl?.reveal() ?? null,
    dataDir: config.storeDir,
    mode: config.mode,
    encryptionKeys,
    encryptionKeysIn: options.secrets.encryptionKeysIn,
    log: reports.store,
    ...(options.onUnusable === undefined ? {} : { onLackingKey: options.onUnusable }),
    clock,
    ...(config.smtpUrl === null ? {} : { reconnectDueAt }),
  })
  const kv = await openKv({
    redisUrl: config.redisUrl?.reveal() ?? null,
    redisCacheUrl: config.redisCacheUrl?.reveal() ?? null,
    clock,
    cacheMaxBytes: config.cache.maxBytes,
    cacheMaxEntryBytes: config.cache.maxEntryBytes,
    cacheKey: sealer.derive('kv'),
    generation: config.redisUrl === null ? '' : await digestContract(),
    mark: store.mark,
    log: options.log,
    metrics: reports.kv,
    jobs: reports.jobs,
  })
  // Nobody but this process reads an embedded store, and it hears of its changes without Redis.
  if (kv.beginChange !== null && config.databaseUrl !== null) {
    store.beginChangesWith(kv.beginChange)
  }
  const readings = makeReadings({
    clock,
    leases: kv.leases,
    shared: kv.snapshots === null ? null : kv.cache,
    isGone: async ({ id, version, userId }) =>
      // A login that is being linked has no row yet.
      version > 0
        ? (await store.logins.find(id)) === null
        : userId !== undefined && (await store.users.find(userId)) === null,
    onLateFailure: (error) => reports.backgroundFailure('late-reading', error),
  })
  const adapters = openAdapters(options, { store, kv, reports, readings, origins })
  const timeoutMs = config.requestTimeoutMs
  const connections = makeConnections({
    store,
    adapters,
    readings,
    clock,
    windows: kv.windows,
    timeoutMs,
    report: reports.connections,
    sharesPersonalKeys: config.mode === 'sandbox',
  })
  const mailer = await openMailer(config, origins)
  const access = openSignIns(options, { store, kv, sealer, reports, mailer }, origins)
  const { signIns } = access
  const actions = makeUserActions({ store, clock, signIns, invite: access.byMail.invite })
  const webhooks = makeWebhooks({ store, clock, allowPrivate: config.events.allowPrivate })
  const failures = { reads: makeRecentFailures(clock), syncs: makeRecentFailures(clock) }
  const guard = openGuard({ store, kv, reports, failures })
  const rooms = { adapters, readings, guard, failures, connections, webhooks, ...access, actions }
  const backlog = makeBacklog({ store, clock, onFailure: reports.backgroundFailure })
  const queues = makeQueueSamples({ store, clock })
  return { ...options, origins, reports, store, backlog, queues, kv, sealer, mailer, ...rooms }
}

/** Opens the guard with the breakers and with the action that stores a lost consent. */
function openGuard({
  store,
  kv,
  reports,
  failures,
}: Pick<Foundation, 'store' | 'kv' | 'reports' | 'failures'>): Guard {
  return makeGuard({
    breakers: kv.breakers,
    onConsentLost: ({ target, becomes, wholeLogin }) =>
      markLost(store, {
        login: { id: target.loginId, version: target.loginVersion },
        connectionId: wholeLogin ? null : target.connectionId,
        becomes,
      }),
    onBreakerOpen: reports.breakerOpen,
    onEnd: failures.reads.note,
  })
}

/** Null: no mail server is configured; then nothing that sends mail is loaded. */
async function openMailer({ smtpUrl }: Config, origins: () => Origins): Promise<Mailer | null> {
  const server = smtpUrl === null ? undefined : parseSmtpUrl(smtpUrl.reveal())
  if (server === undefined) return null
  const { makeSmtp } = await import('#mail/smtp.ts')
  return makeSmtp({ server, sender: () => server.from ?? defaultSender(origins().base) })
}

/** Sign-in, and what mailed links do: they share the hashing queue and all counts of attempts. */
function openSignIns(
  { config, clock }: AppOptions,
  options: Pick<Foundation, 'store' | 'kv' | 'sealer' | 'reports' | 'mailer'>,
  origins: () => Origins,
): Pick<Foundation, 'signIns' | 'byMail'> {
  const { store, kv, sealer } = options
  const { signUp } = config
  const passwords = makePasswords()
  const secrets = sealer.deriveAll('sign-in')
  const print = options.mailer === null ? options.reports.printUrl : null
  const tokens = { store, clock, print, origin: () => origins().base }
  const attempts = makeAttempts({
    windows: kv.windows,
    perAddress: config.limits.signin,
    secret: sealer.derive('sign-in'),
  })
  const browsers = makeBrowsers({ secrets, clock })
  return {
    signIns: makeSignIns({
      store,
      clock,
      windows: kv.windows,
      passwords,
      sealer,
      signInLimit: config.limits.signin,
      onDamaged: options.reports.damagedProof,
      secrets,
      signUp,
      origins,
      beginConfirmation: makeBeginConfirmation(tokens),
    }),
    byMail: makeByMail({ ...tokens, signUp, passwords, attempts, browsers }),
  }
}

function openAdapters(
  options: AppOptions,
  {
    store,
    kv,
    reports,
    readings,
    origins,
  }: Pick<Foundation, 'store' | 'kv' | 'reports' | 'readings' | 'origins'>,
): Adapters {
  if (options.adapters !== undefined) return options.adapters
  const { clock, config } = options
  const calls = config.mode === 'sandbox' ? makeMemoryCalls() : store.providerCalls
  const days = makeDayWindows(calls, clock)
  return makeAdapters({
    access: options.access,
    timeoutMs: options.config.upstreamTimeoutMs,
    clock,
    report: reports.upstream,
    isOurs: makeIsOurs(config, origins),
    readings,
    budget: (name, limits) => {
      const windows = limits.isDurable === true ? days : kv.budgets
      return makeBudget({ windows, clock, name, ...limits })
    },
  })
}

/** Changes with the contract and the version: answers of before an upgrade may differ. */
async function digestContract(): Promise<string> {
  const { makeOpenApi } = await import('#contract/openapi.ts')
  const contract = JSON.stringify(makeOpenApi({ baseUrl: '', version }))
  return createHash('sha256').update(contract).digest('base64url')
}
