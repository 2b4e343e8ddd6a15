/**
 * The environment, parsed once into a deeply frozen object: the only file that reads `process.env`. It refuses to
 * guess: every problem of every variable is reported in one go, without ever showing a secret.
 */
import { isIP } from 'node:net'
import { resolve } from 'node:path'
import type { Secret } from '#kernel/secret.ts'
import { findContradictions, findWarnings } from './settings/config-check.ts'
import { type Listener, toListener } from './settings/listener.ts'
import { type SettingName, settings, type Values } from './settings/settings.ts'
import type { TrustedProxies } from './settings/trusted-proxies.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** Public origins without a trailing slash. */
export interface Origins {
  readonly base: string
  readonly mcp: string
  readonly auth: string
}

export interface FiskilSettings {
  readonly baseUrl: string
  readonly clientId: string
  readonly clientSecret: Secret<string>
  readonly webhookSecret: Secret<string> | null
  readonly teamId: string
  readonly version: string
}

export interface AkahuSettings {
  readonly baseUrl: string
  readonly oauthUrl: string
  readonly appToken: Secret<string>
  readonly appSecret: Secret<string>
}

export interface SnaptradeSettings {
  readonly baseUrl: string
  readonly clientId: string
  readonly consumerKey: Secret<string>
}

export interface Config {
  readonly mode: 'live' | 'sandbox'
  readonly role: Values['ROLE']
  readonly logLevel: Values['LOG_LEVEL']
  readonly listener: Listener
  readonly adminListener: Listener
  /** As configured; see `toOrigins` for those that hold. */
  readonly baseUrl: string | null
  readonly mcpUrl: string | null
  readonly authUrl: string | null
  readonly trustedProxies: TrustedProxies
  /** Absolute; holds the generated secrets. */
  readonly dataDir: string
  /** Absolute; holds the embedded database: `dataDir`, or its `sandbox` folder in sandbox mode. */
  readonly storeDir: string
  readonly databaseUrl: Secret<string> | null
  readonly redisUrl: Secret<string> | null
  /** Null: to be generated or read from `dataDir` (`loadSecrets`). */
  readonly encryptionKeys: Secret<readonly Uint8Array[]> | null
  /** Null: to be generated or read from `dataDir` (`loadSecrets`). */
  readonly adminToken: Secret<string> | null
  readonly plans: {
    readonly defaultPlan: 'none' | 'developer' | 'professional'
    readonly brokerageDuringTrial: boolean
  }
  readonly signUp: 'open' | 'invite'
  readonly smtpUrl: Secret<string> | null
  /** Null: not configured. In sandbox mode the emulators take their place. */
  readonly providers: {
    readonly fiskil: FiskilSettings | null
    readonly akahu: AkahuSettings | null
    readonly snaptrade: SnaptradeSettings | null
  }
  readonly upstreamTimeoutMs: number
  readonly requestTimeoutMs: number
  readonly syncIntervalMinutes: number
  readonly cache: { readonly maxEntryBytes: number; readonly maxBytes: number }
  /** Per minute, but `heavyInFlight`; 0 is no limit. */
  readonly limits: {
    readonly cheap: number
    readonly mid: number
    readonly heavy: number
    readonly preauth: number
    readonly preauthIp: number
    readonly register: number
    readonly token: number
    readonly signin: number
    readonly heavyInFlight: number
  }
  readonly events: {
    readonly allowPrivate: boolean
    readonly retryScheduleSeconds: readonly number[]
    readonly retentionHours: number
  }
  readonly mcpMaxAnswerBytes: number
  /** The variables that are set, in the order of the documentation, as they may be shown: secrets masked. */
  readonly given: readonly { readonly name: SettingName; readonly shown: string }[]
  /** What an operator should know although it stops nothing; one sentence each, without secrets. */
  readonly warnings: readonly string[]
}

/** Everything that is wrong with the environment; `message` holds one line per problem. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(`The configuration has ${problems.length} problem(s):\n  ${problems.join('\n  ')}`)
    this.problems = problems
  }
}

/**
 * Reads the environment. An empty variable counts as unset.
 * @param workingDirectory what a relative `DATA_DIR` starts from.
 * @throws ConfigError with one line per problem: the variable, what was given, what it should be.
 */
export function readConfig(
  environment: Environment = process.env,
  workingDirectory: string = process.cwd(),
): Config {
  const problems: string[] = []
  const values = readValues(environment, problems)
  const given = (name: SettingName) => readText(environment, name) !== ''
  const providers = readProviders(values, given, problems)
  const isConfigured = Object.values(providers).some((provider) => provider !== null)
  const sandbox = values.SANDBOX ?? (!isConfigured && !given('DATABASE_URL'))
  const config = compose(values, { sandbox, providers, workingDirectory })
  problems.push(...findContradictions(config, given))
  if (problems.length > 0) throw new ConfigError(problems)
  return deepFreeze({
    ...config,
    given: listGiven(environment),
    warnings: findWarnings(config, given, environment),
  })
}

/** The public origins that hold once the listener has its port: what is not configured is the listener's own origin. */
export function toOrigins(config: Config, port: number = config.listener.port): Origins {
  const { host } = config.listener
  const base = config.baseUrl ?? `http://${isIP(host) === 6 ? `[${host}]` : host}:${port}`
  return { base, mcp: config.mcpUrl ?? base, auth: config.authUrl ?? base }
}

function readText(environment: Environment, name: string): string {
  return environment[name]?.trim() ?? ''
}

function listGiven(environment: Environment): Config['given'] {
  return settings.flatMap(([name, { isSecret }]) => {
    const text = readText(environment, name)
    if (text === '') return []
    return [{ name, shown: isSecret || mayHideSecret(text) ? '[secret]' : text }]
  })
}

function readValues(environment: Environment, problems: string[]): Values {
  const values: Record<string, unknown> = {}
  for (const [name, setting] of settings) {
    const text = readText(environment, name)
    const value = text === '' ? setting.fallback : setting.parse(text)
    if (value === undefined) {
      problems.push(`${name}: got ${show(text, setting.isSecret)}, should be ${setting.expects}`)
    }
    // A refused variable counts as unset from here on, so that the remaining problems are found as well.
    values[name] = value === undefined ? setting.fallback : value
  }
  return values as Values
}

/** User-info in a URL and whatever is long may be a secret in the wrong place: it is not shown either. */
function show(text: string, isSecret: boolean): string {
  if (isSecret || mayHideSecret(text)) return 'a value that is not shown here'
  return JSON.stringify(text)
}

function mayHideSecret(text: string): boolean {
  return text.includes('@') || text.length > 80
}

type Given = (name: SettingName) => boolean

const credentials = {
  fiskil: {
    required: ['FISKIL_CLIENT_ID', 'FISKIL_CLIENT_SECRET'],
    optional: ['FISKIL_WEBHOOK_SECRET', 'FISKIL_TEAM_ID'],
  },
  akahu: { required: ['AKAHU_APP_TOKEN', 'AKAHU_APP_SECRET'], optional: [] },
  snaptrade: { required: ['SNAPTRADE_CLIENT_ID', 'SNAPTRADE_CONSUMER_KEY'], optional: [] },
} as const satisfies Record<string, { required: SettingName[]; optional: SettingName[] }>

function readProviders(values: Values, given: Given, problems: string[]): Config['providers'] {
  for (const { required, optional } of Object.values(credentials)) {
    const set = [...required, ...optional].filter(given)
    const missing = required.filter((name) => !given(name))
    if (set.length > 0 && missing.length > 0) {
      problems.push(`${missing.join(', ')}: not set, should be set together with ${set.join(', ')}`)
    }
  }
  return {
    fiskil: toFiskil(values),
    akahu:
      values.AKAHU_APP_TOKEN === null || values.AKAHU_APP_SECRET === null
        ? null
        : {
            baseUrl: values.AKAHU_BASE_URL,
            oauthUrl: values.AKAHU_OAUTH_URL,
            appToken: values.AKAHU_APP_TOKEN,
            appSecret: values.AKAHU_APP_SECRET,
          },
    snaptrade:
      values.SNAPTRADE_CLIENT_ID === null || values.SNAPTRADE_CONSUMER_KEY === null
        ? null
        : {
            baseUrl: values.SNAPTRADE_BASE_URL,
            clientId: values.SNAPTRADE_CLIENT_ID,
            consumerKey: values.SNAPTRADE_CONSUMER_KEY,
          },
  }
}

function toFiskil(values: Values): FiskilSettings | null {
  if (values.FISKIL_CLIENT_ID === null || values.FISKIL_CLIENT_SECRET === null) return null
  return {
    baseUrl: values.FISKIL_BASE_URL,
    clientId: values.FISKIL_CLIENT_ID,
    clientSecret: values.FISKIL_CLIENT_SECRET,
    webhookSecret: values.FISKIL_WEBHOOK_SECRET,
    teamId: values.FISKIL_TEAM_ID ?? values.FISKIL_CLIENT_ID,
    version: values.FISKIL_VERSION,
  }
}

interface Decided {
  readonly sandbox: boolean
  readonly providers: Config['providers']
  readonly workingDirectory: string
}

function compose(values: Values, decided: Decided): Omit<Config, 'given' | 'warnings'> {
  const { sandbox } = decided
  const dataDir = resolve(decided.workingDirectory, values.DATA_DIR)
  const listener = toListener(values.HOST, values.PORT)
  return {
    mode: sandbox ? 'sandbox' : 'live',
    role: values.ROLE,
    logLevel: values.LOG_LEVEL,
    listener,
    adminListener: toListener(values.ADMIN_HOST, values.ADMIN_PORT),
    baseUrl: values.BASE_URL,
    mcpUrl: values.MCP_URL,
    authUrl: values.AUTH_URL,
    trustedProxies: values.TRUST_PROXY,
    dataDir,
    storeDir: sandbox ? resolve(dataDir, 'sandbox') : dataDir,
    databaseUrl: values.DATABASE_URL,
    redisUrl: values.REDIS_URL,
    encryptionKeys: values.ENCRYPTION_KEY,
    adminToken: values.ADMIN_TOKEN,
    plans: {
      defaultPlan: values.DEFAULT_PLAN ?? (sandbox ? 'professional' : 'none'),
      brokerageDuringTrial: values.BROKERAGE_DURING_TRIAL,
    },
    signUp: values.SIGN_UP ?? (sandbox ? 'open' : 'invite'),
    smtpUrl: values.SMTP_URL,
    providers: decided.providers,
    upstreamTimeoutMs: values.UPSTREAM_TIMEOUT_MS,
    requestTimeoutMs: values.REQUEST_TIMEOUT_MS,
    syncIntervalMinutes: values.SYNC_INTERVAL_MINUTES,
    cache: { maxEntryBytes: values.CACHE_MAX_ENTRY_BYTES, maxBytes: values.CACHE_MAX_BYTES },
    limits: toLimits(values),
    events: {
      allowPrivate: values.WEBHOOK_ALLOW_PRIVATE ?? (sandbox && listener.isLoopback),
      retryScheduleSeconds: values.WEBHOOK_RETRY_SCHEDULE,
      retentionHours: values.EVENT_RETENTION_HOURS,
    },
    mcpMaxAnswerBytes: values.MCP_MAX_ANSWER_BYTES,
  }
}

function toLimits(values: Values): Config['limits'] {
  return {
    cheap: values.RATE_LIMIT_CHEAP,
    mid: values.RATE_LIMIT_MID,
    heavy: values.RATE_LIMIT_HEAVY,
    preauth: values.RATE_LIMIT_PREAUTH,
    preauthIp: values.RATE_LIMIT_PREAUTH_IP,
    register: values.RATE_LIMIT_REGISTER,
    token: values.RATE_LIMIT_TOKEN,
    signin: values.RATE_LIMIT_SIGNIN,
    heavyInFlight: values.CONCURRENCY_HEAVY,
  }
}

/** Functions, secrets and other objects of a class are left alone: they keep nothing that could be written to. */
function deepFreeze<Value>(value: Value): Value {
  const isPlain = Array.isArray(value) || Object.getPrototypeOf(value ?? 0) === Object.prototype
  if (!isPlain) return value
  for (const part of Object.values(value as object)) deepFreeze(part)
  return Object.freeze(value)
}
