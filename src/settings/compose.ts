/** The configuration as the service uses it, with the defaults that depend on other settings. */
import { resolve } from 'node:path'
import type { EnvironmentFile } from './environment-file.ts'
import { toListener } from './listener.ts'
import type { ProvidersConfig } from './provider-settings.ts'
import type { SettingName, Values } from './settings.ts'

interface Decided {
  readonly sandbox: boolean
  readonly providers: ProvidersConfig
  readonly workingDirectory: string
}

export type Config = ReturnType<typeof compose> & {
  /** The variables that are set, in the order of the documentation, with secrets masked. */
  readonly given: readonly { readonly name: SettingName; readonly shown: string }[]
  /** The `.env` that was read, and the variables whose value comes from it; null when there was none. */
  readonly environmentFile:
    | (Pick<EnvironmentFile, 'path'> & { readonly names: readonly SettingName[] })
    | null
  /** Risks that do not prevent the start; one sentence each, without secrets. */
  readonly warnings: readonly string[]
}

export function compose(values: Values, { sandbox, providers, workingDirectory }: Decided) {
  const dataDir = resolve(workingDirectory, values.DATA_DIR)
  const listener = toListener(values.HOST, values.PORT)
  return {
    mode: sandbox ? 'sandbox' : 'live',
    role: values.ROLE,
    logLevel: values.LOG_LEVEL,
    listener,
    adminListener: toListener(values.ADMIN_HOST, values.ADMIN_PORT),
    // As configured; `toOrigins` gives the effective ones.
    baseUrl: values.BASE_URL,
    mcpUrl: values.MCP_URL,
    authUrl: values.AUTH_URL,
    trustedProxies: values.TRUST_PROXY,
    /** Absolute; holds the generated secrets. */
    dataDir,
    /** Absolute; holds the embedded database. */
    storeDir: sandbox ? resolve(dataDir, 'sandbox') : dataDir,
    databaseUrl: values.DATABASE_URL,
    redisUrl: values.REDIS_URL,
    /** The Redis of cached answers; null without `redisUrl`. */
    redisCacheUrl: values.REDIS_CACHE_URL ?? values.REDIS_URL,
    // Null: to be generated or read from `dataDir` (`loadSecrets`).
    encryptionKeys: values.ENCRYPTION_KEY,
    adminToken: values.ADMIN_TOKEN,
    plans: {
      defaultPlan: values.DEFAULT_PLAN,
      brokerageDuringTrial: values.BROKERAGE_DURING_TRIAL,
    },
    signUp: values.SIGN_UP ?? (sandbox ? 'open' : 'invite'),
    smtpUrl: values.SMTP_URL,
    providers,
    upstreamTimeoutMs: values.UPSTREAM_TIMEOUT_MS,
    requestTimeoutMs: values.REQUEST_TIMEOUT_MS,
    syncIntervalMinutes: values.SYNC_INTERVAL_MINUTES,
    cache: { maxEntryBytes: values.CACHE_MAX_ENTRY_BYTES, maxBytes: values.CACHE_MAX_BYTES },
    /** Per minute, except `heavyInFlight`; 0 means no limit. */
    limits: {
      cheap: values.RATE_LIMIT_CHEAP,
      mid: values.RATE_LIMIT_MID,
      heavy: values.RATE_LIMIT_HEAVY,
      preauth: values.RATE_LIMIT_PREAUTH,
      preauthIp: values.RATE_LIMIT_PREAUTH_IP,
      register: values.RATE_LIMIT_REGISTER,
      token: values.RATE_LIMIT_TOKEN,
      signin: values.RATE_LIMIT_SIGNIN,
      heavyInFlight: values.CONCURRENCY_HEAVY,
    },
    events: {
      allowPrivate: values.WEBHOOK_ALLOW_PRIVATE ?? (sandbox && listener.isLoopback),
      retryScheduleSeconds: values.WEBHOOK_RETRY_SCHEDULE,
      retentionHours: values.EVENT_RETENTION_HOURS,
    },
    mcpMaxAnswerBytes: values.MCP_MAX_ANSWER_BYTES,
    mcpExtraTools: values.MCP_EXTRA_TOOLS,
    /** Null: neither traces nor metrics are sent anywhere. */
    otlp: composeOtlp(values),
    otlpHeaders: values.OTEL_EXPORTER_OTLP_HEADERS,
  } as const
}

/** The URLs by kind: the one of the kind, else below the common one (OpenTelemetry, OTLP exporter). */
function composeOtlp(values: Values) {
  const common = values.OTEL_EXPORTER_OTLP_ENDPOINT
  const tracesUrl =
    values.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? (common === null ? null : `${common}/v1/traces`)
  const metricsUrl =
    values.OTEL_EXPORTER_OTLP_METRICS_ENDPOINT ?? (common === null ? null : `${common}/v1/metrics`)
  if (tracesUrl === null && metricsUrl === null) return null
  return {
    tracesUrl,
    metricsUrl,
    timeoutMs: values.OTEL_EXPORTER_OTLP_TIMEOUT,
    isCompressed: values.OTEL_EXPORTER_OTLP_COMPRESSION === 'gzip',
    metricIntervalMs: values.OTEL_METRIC_EXPORT_INTERVAL,
    serviceName: values.OTEL_SERVICE_NAME,
  } as const
}
