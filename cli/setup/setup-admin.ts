/**
 * The admin API that a setup uses: that of the service that runs on this machine, or one inside this process
 * while none runs. Both answer the same calls.
 */
import type { Config } from '#settings/compose.ts'
import type { Environment } from '#settings/environment-file.ts'
import { type Call, callServer, findServer, Refusal, type Server, toAnswer } from '../server.ts'
import { demandOwnData } from './own-folder.ts'

export interface SetupAdmin {
  /** The public origin of the service. */
  readonly baseUrl: string
  /** Null: the service runs elsewhere and keeps its data itself. */
  readonly storeDir: string | null
  /** @throws Refusal */
  ask(call: Call): Promise<unknown>
  /** What the REST API answers to this reader, within two seconds. It rejects where it does not. */
  read(path: string, reader: Reader): Promise<unknown>
  /** Reads the settings anew; a service that runs keeps its own. @throws Refusal */
  renew(): Promise<void>
  close(): Promise<void>
}

/** A user with their API key. */
interface Reader {
  readonly userId: string
  readonly key: string
}

const readSeconds = 2
/** A service that is loaded answers sooner. */
const describeSeconds = 5

interface ServiceAddresses {
  readonly mode: 'live' | 'sandbox'
  readonly baseUrl: string
}

/**
 * The service that runs; null when there is none.
 * @param environment with the `.env` of the working directory.
 * @throws Refusal when it is in sandbox mode, or when ADMIN_URL names one that does not answer.
 */
export async function findRunning(
  own: Environment,
  environment: Environment,
  workingDirectory: string,
): Promise<SetupAdmin | null> {
  const isNamed = (environment.ADMIN_URL?.trim() ?? '') !== ''
  let server: Server
  let found: ServiceAddresses
  try {
    server = await findServer(own, workingDirectory)
    found = await describe(server)
  } catch (error) {
    if (!(error instanceof Refusal) || isNamed) throw error
    // No token, nobody there, or a service with another token: that is no service of this data directory.
    const isLate = error.cause instanceof Error && error.cause.name === 'TimeoutError'
    if (!isLate && (error.status === null || error.status === 401)) return null
    throw error
  }
  if (found.mode === 'sandbox') {
    const message = `The service at ${server.url} is in sandbox mode, with made-up people: stop it (Ctrl-C where it runs), then run setup again`
    throw new Refusal({ error: { message } })
  }
  const { baseUrl } = found
  return {
    ...{ baseUrl, storeDir: null },
    ask: (call) => callServer(server, call),
    read: (path, { key }) =>
      callServer(
        { url: baseUrl, token: key },
        { method: 'GET', path, body: null, waitSeconds: readSeconds },
      ),
    renew: async () => {},
    close: async () => {},
  }
}

async function describe(server: Server): Promise<ServiceAddresses> {
  const path = '/admin/service'
  const call = { method: 'GET', path, body: null, waitSeconds: describeSeconds }
  try {
    return (await callServer(server, call)) as ServiceAddresses
  } catch (error) {
    if (!(error instanceof Refusal) || error.status !== 404) throw error
    const message = `The service at ${server.url} is an older version: restart it, then run setup again`
    throw new Refusal({ error: { message } }, { status: 404, cause: error })
  }
}

/** At most this many lines of the log are kept for an answer that needs them. */
const maxLines = 20

export interface InsideSettings {
  /** Called at each opening. @throws Refusal */
  readonly readConfig: () => Config
  /** Further values that no line may contain. */
  readonly listSecrets: () => readonly string[]
  readonly err: (text: string) => void
}

/**
 * Opens the store until it is closed.
 * @throws Refusal when it cannot be opened, e.g. because another process has it.
 */
export async function openInside(settings: InsideSettings): Promise<SetupAdmin> {
  let inside = await openOnce(settings)
  const { baseUrl, storeDir } = inside
  return {
    ...{ baseUrl, storeDir },
    ask: (call) => inside.ask(call),
    read: (path, reader) => inside.read(path, reader),
    async renew() {
      await inside.close()
      // It stays closed where it cannot be opened again.
      inside = { ...inside, close: async () => {} }
      inside = await openOnce(settings)
    },
    close: () => inside.close(),
  }
}

async function openOnce({
  readConfig,
  listSecrets,
  err,
}: InsideSettings): Promise<Omit<SetupAdmin, 'renew'>> {
  const config = readConfig()
  refuseForeignData(config)
  // Imported here only: the other commands need none of it.
  const [
    app,
    { describeStartFailure: describeFailure },
    { loadSecrets },
    { openAccess },
    texts,
    log,
    metrics,
    own,
    time,
  ] = await Promise.all([
    import('#app/local-admin.ts'),
    import('#app/welcome.ts'),
    import('#settings/secrets.ts'),
    import('#settings/open-access.ts'),
    import('#settings/secret-texts.ts'),
    import('#telemetry/log.ts'),
    import('#telemetry/metrics.ts'),
    import('#src/config.ts'),
    import('#kernel/time.ts'),
  ])
  const lines: string[] = []
  try {
    const secrets = await loadSecrets(config)
    const admin = await app.openLocalAdmin({
      config,
      secrets,
      access: openAccess(config),
      clock: time.systemClock,
      log: log.makeLog({
        level: 'error',
        secrets: [...texts.listSecretTexts(config, secrets), ...listSecrets()],
        destination: { write: (line) => void (lines.length < maxLines && lines.push(line)) },
      }),
      metrics: metrics.makeMetrics(),
      checkReplies: false,
    })
    return {
      baseUrl: own.toOrigins(config).base,
      storeDir: config.databaseUrl === null ? config.storeDir : null,
      async ask(call) {
        const { status, text } = await admin.ask(call as Parameters<typeof admin.ask>[0])
        // The answer to a mistake of ours says nothing: the log does.
        if (status === 500) err(lines.join(''))
        return toAnswer({ status, text })
      },
      read: (path, { userId }) => admin.read(path, userId, AbortSignal.timeout(readSeconds * 1000)),
      close: () => admin.close(),
    }
  } catch (error) {
    throw new Refusal({ error: { message: describeFailure(error) } }, { cause: error })
  }
}

/**
 * With a database and an admin token that are set, nothing is read or written in the data directory.
 * @throws Refusal where somebody else may write there, also for root, whose files the service could not open.
 */
function refuseForeignData({ dataDir, databaseUrl, adminToken }: Config): void {
  if (databaseUrl === null || adminToken === null) demandOwnData(dataDir)
}
