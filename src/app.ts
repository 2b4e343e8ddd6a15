/**
 * The composition root: the only file that knows every room. It opens what the configuration asks for, in the order in
 * which things need each other, and closes it in the reverse. It holds no rule of its own.
 */
import type { FastifyInstance } from 'fastify'
import { type Accounts, makeAccounts } from '#auth/accounts/accounts.ts'
import { makePasswords } from '#auth/accounts/password.ts'
import { startSessionSweep } from '#auth/accounts/session-sweep.ts'
import { makeSessions } from '#auth/accounts/sessions.ts'
import type { TokenReader } from '#auth/oauth/port.ts'
import { makeOpenApi } from '#contract/openapi.ts'
import { makeAdminDoor } from '#doors/admin/door.ts'
import { clientAddress } from '#doors/client.ts'
import { docsDoor } from '#doors/docs/docs-door.ts'
import { mcpDoor } from '#doors/mcp/door.ts'
import { oauthDoor } from '#doors/oauth/oauth-door.ts'
import { pagesDoor } from '#doors/pages/pages-door.ts'
import { makeRestLane } from '#doors/rest/lane.ts'
import { makeGate } from '#gate/gate.ts'
import { makeIdentify } from '#gate/identify.ts'
import { makeIdentifyAgent } from '#gate/identify-agent.ts'
import { makeThrottle } from '#gate/throttle.ts'
import type { Clock } from '#kernel/time.ts'
import { makeTurnClock } from '#kernel/turn-clock.ts'
import { type Links, makeLinks, startDeletionSweep } from '#links/links.ts'
import { makeAdapters, type ProviderAccess } from '#providers/adapters.ts'
import { makeBudget } from '#providers/budget.ts'
import { type ConsentLoss, makeGuard } from '#providers/guard.ts'
import type { Adapters } from '#providers/port.ts'
import { makeRead } from '#resources/read.ts'
import { openWalks } from '#resources/walks.ts'
import { openKv } from '#store/kv/open.ts'
import type { Kv } from '#store/kv-port.ts'
import { openStore } from '#store/open-store.ts'
import type { Store } from '#store/port.ts'
import { makeSealer } from '#store/seal.ts'
import { openAuthorization } from './authorization.ts'
import { type Config, type Origins, toOrigins } from './config.ts'
import { makeExamination } from './examination.ts'
import { listenerTimes, makePublicServer } from './public-server.ts'
import type { Secrets } from './settings/secrets.ts'
import type { Log } from './telemetry/log.ts'
import type { Metrics } from './telemetry/metrics.ts'
import { makeReports, type Reports } from './telemetry/reports.ts'
import { version } from './version.ts'

export interface AppOptions {
  readonly config: Config
  readonly secrets: Secrets
  /** Where the providers are; in sandbox mode the emulators. */
  readonly access: ProviderAccess
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
  /** Replies are parsed with their schemas: in tests and development. */
  readonly checkReplies: boolean
  /** For tests: stands in for what `access` would open. */
  readonly adapters?: Adapters
  /** Further paths of the admin API: in sandbox mode those of the sandbox commands. */
  readonly adminExtension?: (parts: AdminParts) => (admin: FastifyInstance) => void
}

export interface AdminParts {
  readonly store: Store
  readonly links: Links
  readonly clock: Clock
}

export interface App {
  readonly store: Store
  readonly kv: Kv
  readonly links: Links
  /** Binds both listeners; rejects when a port is taken. */
  listen(): Promise<{ readonly origins: Origins; readonly adminUrl: string }>
  /** No new work, requests in flight finish (at most 25 s), then everything is closed. */
  close(): Promise<void>
}

/** Interfaces §4: after so long requests in flight are cut off. */
const drainMs = 25_000
/** SnapTrade page §4: of its 250 calls a minute we use 200, and background work leaves 50 of them to users. */
const snaptradePerMinute = 200
const snaptradeReserve = 50
/** Provider pages held for walks, next to the cache of answers. */
const walkBytes = 32 * 1024 * 1024

export async function openApp(given: AppOptions): Promise<App> {
  const options = { ...given, clock: makeTurnClock(given.clock) }
  const { config } = options
  const foundation = await openFoundation(options)
  const { store, kv, adapters, links, reports } = foundation
  // With port 0 they are known once the listener is bound, so the doors ask for them when they write (reading R2).
  let origins = toOrigins(config)
  const authorization = await openAuthorization({
    ...foundation,
    config,
    clock: options.clock,
    encryptionKeys: options.secrets.encryptionKeys.reveal(),
    origins: () => origins,
    report: reports.oauth,
  })
  const { tokens } = authorization
  const river = makeRiver({ ...options, ...foundation, origins: () => origins, tokens })
  const sessions = makeSessions({ store, clock: options.clock })
  let draining = false
  const admin = makeAdmin({ ...options, ...foundation, origins: () => origins }, () => draining)
  const server = await makePublicServer({
    lane: river.lane,
    times: { ...listenerTimes, silence: config.requestTimeoutMs + listenerTimes.silence },
    mount: async (fastify) => {
      const document = () => makeOpenApi({ baseUrl: origins.base, version })
      await fastify.register(docsDoor, { document })
      await fastify.register(mcpDoor, river.agents)
      await fastify.register(oauthDoor, {
        oauth: authorization,
        origins: () => origins,
        isLoopback: config.listener.isLoopback,
        onRefused: reports.oauth.request,
      })
      await fastify.register(pagesDoor, {
        ...foundation,
        sessions,
        consent: authorization.consent,
        agents: authorization.agents,
        plans: config.plans,
        origins: () => origins,
        clock: options.clock,
        isLoopback: config.listener.isLoopback,
        secure: origins.base.startsWith('https:'),
        addressOf: (request) =>
          clientAddress(request.raw, (address) => config.trustedProxies.includes(address)),
        onFailure: (error) => reports.backgroundFailure('pages', error),
      })
    },
  })
  const sweep = startDeletionSweep(links.finishDeletions, { report: reports.links })
  const sessionSweep = startSessionSweep(sessions, {
    onFailure: (error) => reports.backgroundFailure('session-sweep', error),
  })

  return {
    store,
    kv,
    links,
    async listen() {
      const { host, port } = config.adminListener
      const adminUrl = await admin.listen({ host, port })
      const publicPort = await server.listen(config.listener.host, config.listener.port)
      origins = toOrigins(config, publicPort)
      return { origins, adminUrl }
    },
    async close() {
      draining = true
      // The sweeps are new work: they end at once, while requests in flight still have their time.
      await Promise.all([server.drain(drainMs), sweep.stop(), sessionSweep.stop()])
      await admin.close()
      river.close()
      await authorization.close()
      await Promise.all(Object.values(adapters).map((adapter) => adapter.close()))
      await kv.close()
      await store.close()
    },
  }
}

/** What every door stands on. */
interface Foundation {
  readonly reports: Reports
  readonly store: Store
  readonly kv: Kv
  readonly adapters: Adapters
  readonly links: Links
  readonly accounts: Accounts
}

async function openFoundation(options: AppOptions): Promise<Foundation> {
  const { config, clock } = options
  const reports = makeReports(options.log, options.metrics)
  const encryptionKeys = options.secrets.encryptionKeys.reveal()
  const store = await openStore({
    databaseUrl: config.databaseUrl?.reveal() ?? null,
    dataDir: config.storeDir,
    mode: config.mode,
    encryptionKeys,
    log: reports.store,
  })
  const kv = await openKv({
    redisUrl: config.redisUrl?.reveal() ?? null,
    clock,
    cacheMaxBytes: config.cache.maxBytes,
    cacheMaxEntryBytes: config.cache.maxEntryBytes,
    cacheKey: makeSealer(encryptionKeys).derive('kv'),
    log: options.log,
    metrics: reports.kv,
  })
  const adapters = options.adapters ?? openAdapters(options, kv, reports)
  const timeoutMs = config.requestTimeoutMs
  const links = makeLinks({ store, adapters, clock, timeoutMs, report: reports.links })
  const accounts = makeAccounts({
    store,
    clock,
    windows: kv.windows,
    passwords: makePasswords(),
    signInLimit: config.limits.signin,
    signUp: config.signUp,
  })
  return { reports, store, kv, adapters, links, accounts }
}

function openAdapters(options: AppOptions, kv: Kv, reports: Reports): Adapters {
  return makeAdapters({
    access: options.access,
    timeoutMs: options.config.upstreamTimeoutMs,
    clock: options.clock,
    report: reports.upstream,
    snaptradeBudget: makeBudget({
      windows: kv.windows,
      name: 'snaptrade',
      perMinute: snaptradePerMinute,
      reserve: snaptradeReserve,
    }),
  })
}

type AdminDoorParts = AppOptions & Foundation & { readonly origins: () => Origins }

function makeAdmin(parts: AdminDoorParts, isDraining: () => boolean): FastifyInstance {
  const { config, store, kv, links, clock, log, metrics } = parts
  return makeAdminDoor({
    store,
    links,
    clock,
    windows: kv.windows,
    adminToken: parts.secrets.adminToken,
    planSettings: config.plans,
    hashPassword: parts.accounts.hashPassword,
    setPassword: parts.accounts.setPassword,
    listener: config.adminListener,
    log,
    examine: makeExamination({
      ...parts,
      onFailure: (error) => parts.reports.backgroundFailure('doctor', error),
    }),
    metrics: { contentType: metrics.contentType, metrics: () => metrics.text() },
    readiness: { checks: { store: () => store.ping(), kv: () => kv.ping() }, isDraining },
    ...(parts.adminExtension === undefined
      ? {}
      : { extension: parts.adminExtension({ store, links, clock }) }),
  })
}

type RiverParts = AppOptions &
  Foundation & {
    readonly origins: () => Origins
    /** Null: no authorization server; agents bring API keys alone. */
    readonly tokens: TokenReader | null
  }

/** The read river, from throttle to guard, and what its two doors need. */
function makeRiver(parts: RiverParts) {
  const { config, store, kv, adapters, clock, reports } = parts
  const guard = makeGuard({
    breakers: kv.breakers,
    onConsentLost: (loss) => writeLossDown(store, loss),
    onBreakerOpen: reports.breakerOpen,
  })
  const walks = openWalks({ maxBytes: walkBytes, clock })
  const read = makeRead({
    store,
    adapters,
    guard,
    walks,
    clock,
    refreshAccounts: async (connectionId, { priority, signal }) => {
      await parts.links.refreshConnection(connectionId, { priority, stop: signal })
    },
    onBalanceFailure: reports.balanceFailure,
  })
  const gate = makeGate({
    kv,
    read,
    clock,
    plans: config.plans,
    limits: {
      buckets: { cheap: config.limits.cheap, mid: config.limits.mid, heavy: config.limits.heavy },
      concurrency: config.limits.heavyInFlight,
      requestTimeoutMs: config.requestTimeoutMs,
    },
    checkReplies: parts.checkReplies,
  })
  const identify = makeIdentify({ store, clock, onBackgroundFailure: reports.backgroundFailure })
  const { preauth, preauthIp } = config.limits
  const entrance = {
    gate,
    throttle: makeThrottle(kv.windows, { preauth, preauthIp }),
    clock,
    isTrustedProxy: (address: string) => config.trustedProxies.includes(address),
  }
  const docsUrl = () => `${parts.origins().base}/doc`
  const agents = {
    ...entrance,
    identify: makeIdentifyAgent({ keys: identify, tokens: parts.tokens, store, clock }),
    origins: parts.origins,
    isLoopback: config.listener.isLoopback,
    maxAnswerBytes: config.mcpMaxAnswerBytes,
    version,
    observe: reports.agentRequest,
  }
  return {
    lane: makeRestLane({ ...entrance, identify, docsUrl, observe: reports.request }),
    agents,
    close() {
      identify.close()
      walks.close()
    },
  }
}

/** Readings R20, R20b: the connection takes its new status, all of them where the person's credentials are gone. */
async function writeLossDown(store: Store, loss: ConsentLoss): Promise<void> {
  const rows = loss.wholeLogin
    ? await store.connections.listByLogin(loss.target.loginId)
    : [await store.connections.find(loss.target.connectionId)]
  for (const row of rows) {
    if (row === null || row.status === 'deleting' || row.status === 'revoked') continue
    await store.connections.setStatus(row.id, loss.becomes)
  }
}
