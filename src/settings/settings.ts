/**
 * Defines every environment variable of the product, once: name, default, meaning and parser. `config.ts`
 * reads them; `scripts/configuration.ts` writes `docs/configuration.md` and `.env.example` from them.
 */
import { Secret } from '#kernel/secret.ts'
import { parseSmtpUrl } from '#mail/smtp-url.ts'
import { parseEncryptionKeys } from './encryption-keys.ts'
import { databaseUrl, redisUrl } from './server-urls.ts'
import * as read from './setting-kinds.ts'
import { noProxies, parseTrustedProxies, type TrustedProxies } from './trusted-proxies.ts'

const anyPort = { min: 0, max: 65_535 }
const anyTimeout = { min: 10, max: 3_600_000 }
const anyRate = { min: 0, max: 1_000_000_000 }
const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

const trustProxy: read.Setting<TrustedProxies> = {
  fallback: noProxies,
  defaultText: 'false',
  expects:
    'false, or IP addresses and CIDRs such as 10.0.0.0/8, separated by commas (not everybody: at most a sixteenth of all IPv4 addresses, and a /16 of the public IPv6 ones)',
  meaning: 'Proxies whose `X-Forwarded-For` counts.',
  isSecret: false,
  parse: parseTrustedProxies,
}

const encryptionKey: read.Setting<Secret<readonly Uint8Array[]> | null> = {
  fallback: null,
  defaultText: 'generated into `DATA_DIR/secrets/`; required with `DATABASE_URL`',
  expects: 'base64 of exactly 32 bytes (openssl rand -base64 32); several separated by commas',
  meaning:
    'Seals provider credentials and other secrets at rest: 32 bytes, base64. Several, separated by commas: the first encrypts, all decrypt.',
  isSecret: true,
  parse: (text) => {
    const keys = parseEncryptionKeys(text)
    return keys === undefined ? undefined : new Secret(keys)
  },
}

const smtpUrl: read.Setting<Secret<string> | null> = {
  fallback: null,
  defaultText: 'none: no mail',
  expects:
    'smtp://USER:PASSWORD@HOST:PORT or smtps://…, user and password percent-encoded and both or neither, then at most ?from=ADDRESS or ?from=NAME<ADDRESS>, and ?tls=never (smtp:// without a user)',
  meaning:
    'Mail server for invitations, confirmations, new passwords and notices ([mail](operations/install.md#mail)): `smtps://` with TLS from the start (port 465), `smtp://` with STARTTLS (port 587), which only a server on this machine may lack; `?tls=never` sends to another one without TLS, readable by everybody on the way. `?from=` is the sender; `Tributary <no-reply@…>` at the host of `BASE_URL` when absent.',
  isSecret: true,
  parse: (text) => (parseSmtpUrl(text) === undefined ? undefined : new Secret(text)),
}

const fiskilVersion: read.Setting<string> = {
  fallback: 'v3',
  defaultText: 'v3',
  expects: 'v and a number, e.g. v3',
  meaning: 'Value of the header `X-Fiskil-Version`.',
  isSecret: false,
  parse: (text) => (/^v\d{1,3}$/.test(text) ? text : undefined),
}

const rate = (perMinute: number, of: string) =>
  read.integer(perMinute, anyRate, `Per minute: ${of}. \`0\`: no limit.`)

/** The chapters of the documentation, in its order; each variable belongs to exactly one. */
export const chapters = {
  Listeners: {
    HOST: read.host(
      'Public listener: REST, MCP, OAuth, pages. On a non-loopback host `BASE_URL` must be set.',
    ),
    PORT: read.integer(3000, anyPort, 'Port of the public listener; `0`: any free one.'),
    BASE_URL: read.origin({
      meaning: 'Public origin of REST, documentation and pages.',
      defaultText: 'the public listener’s origin',
    }),
    MCP_URL: read.origin({
      meaning: 'Public origin of the agent interface (`{MCP_URL}/mcp`).',
      defaultText: '`BASE_URL`',
    }),
    AUTH_URL: read.origin({
      meaning: 'Public origin of the OAuth server.',
      defaultText: '`BASE_URL`',
    }),
    ADMIN_HOST: read.host(
      'Admin listener: admin API, `/healthz`, `/readyz`, `/metrics`. Keep it off the public network.',
    ),
    ADMIN_PORT: read.integer(3001, anyPort, 'Port of the admin listener; `0`: any free one.'),
    ADMIN_TOKEN: read.ownToken(
      'Bearer token of the admin API.',
      'generated into `DATA_DIR/admin-token`, mode 0600',
    ),
    TRUST_PROXY: trustProxy,
  },
  Storage: {
    DATA_DIR: read.directory('./data', 'Embedded database and generated secrets.'),
    DATABASE_URL: databaseUrl({
      meaning:
        'PostgreSQL 15 or newer, user and password percent-encoded. `?host=/folder` names a socket. `sslmode`: `disable`, as without it; `require`, `verify-ca` and `verify-full` all verify the certificate and its name; `no-verify` verifies nothing; what may fall back to no TLS (`prefer`, `allow`) is refused, and so is a parameter of TLS that has no effect.',
      defaultText: 'none: the embedded database',
    }),
    REDIS_URL: redisUrl({
      meaning:
        'Valkey 8, or Redis 7 or newer (`rediss://`: with TLS, verified), password percent-encoded: shared limits, concurrency leases and breakers. Without `REDIS_CACHE_URL`, cached answers too.',
      defaultText: 'none: in memory',
    }),
    REDIS_CACHE_URL: redisUrl({
      meaning: 'A separate Valkey or Redis for cached answers, so that they cannot evict limits.',
      defaultText: '`REDIS_URL`',
    }),
    ENCRYPTION_KEY: encryptionKey,
  },
  'Users and plans': {
    SANDBOX: read.flag(null, {
      meaning:
        'Emulated providers and made-up people, with a separate store (`DATA_DIR/sandbox`). A store created in one mode cannot be opened in the other.',
      defaultText: '`true` when neither a provider nor `DATABASE_URL` is configured',
    }),
    DEFAULT_PLAN: read.choice(['none', 'developer', 'professional'], 'professional', {
      meaning:
        'Plan of a user for whom none was ever set; a plan that was set to `none` stays `none`. Operators who sell access set `none`.',
    }),
    SIGN_UP: read.choice(['open', 'invite', 'closed'], null, {
      meaning:
        'Who may sign up: `open`, everybody; `invite`, whom an operator invited; `closed`, nobody: an operator creates the accounts.',
      defaultText: '`invite`; `open` in sandbox mode',
    }),
    BROKERAGE_DURING_TRIAL: read.flag(false, {
      meaning: 'A user on a Professional trial has brokerage access.',
    }),
    SMTP_URL: smtpUrl,
  },
  Providers: {
    FISKIL_BASE_URL: read.webUrl('https://api.fiskil.com', 'Fiskil (AU banking), without `/v1`.'),
    FISKIL_CLIENT_ID: read.text(null, { meaning: 'Fiskil: client id.' }),
    FISKIL_CLIENT_SECRET: read.secret('Fiskil: client secret.'),
    FISKIL_WEBHOOK_SECRET: read.base64Secret(
      'Fiskil: signing secret of its webhooks, as the Console shows it. Without it `/providers/fiskil/webhook` is 404 and Fiskil is polled.',
    ),
    FISKIL_TEAM_ID: read.text(null, {
      meaning: 'Fiskil: team id, for its list of institutions.',
      defaultText: '`FISKIL_CLIENT_ID`',
    }),
    FISKIL_VERSION: fiskilVersion,
    AKAHU_BASE_URL: read.webUrl(
      'https://api.akahu.io/v1',
      'Akahu (NZ banking), including its `/v1`.',
    ),
    AKAHU_OAUTH_URL: read.webUrl(
      'https://oauth.akahu.nz',
      'Akahu: authorisation page of a full app, where people give consent.',
    ),
    AKAHU_APP_TOKEN: read.secret(
      'Akahu: app id token (`app_token_…`): without `AKAHU_APP_SECRET` of a personal app. Without it people link with the token of their own app.',
    ),
    AKAHU_APP_SECRET: read.secret(
      'Akahu: app secret of a full app; personal apps have none. Without it `/providers/akahu/webhook` is 404 and Akahu is polled.',
    ),
    SNAPTRADE_BASE_URL: read.webUrl(
      'https://api.snaptrade.com',
      'SnapTrade (brokerage); its paths have no prefix.',
    ),
    SNAPTRADE_CLIENT_ID: read.text(null, {
      meaning:
        'SnapTrade: client id. Without client id and consumer key, people link personal keys of their own.',
    }),
    SNAPTRADE_CONSUMER_KEY: read.secret('SnapTrade: consumer key; signs every request.'),
    SNAPTRADE_KEY: read.choice(['commercial', 'personal'], 'commercial', {
      meaning:
        'SnapTrade: of which kind this key is. `personal`: a Personal API key, which is one person’s own and has no users.',
    }),
    UP_BASE_URL: read.webUrl(
      'https://api.up.com.au/api/v1',
      'Up (AU), including its `/api/v1`. Up needs no credentials of this installation: people link their own tokens.',
    ),
    SIMPLEFIN_BASE_URL: read.webUrl(
      'https://bridge.simplefin.org/simplefin',
      'SimpleFIN: the server whose page makes setup tokens, for the doctor. People’s own tokens lead to their servers.',
    ),
    SIMPLEFIN_ALLOW_PRIVATE: read.flag(false, {
      meaning:
        'SimpleFIN: tokens may lead to servers on private addresses and by plain http, e.g. your own bridge.',
    }),
    ENABLEBANKING_BASE_URL: read.webUrl(
      'https://api.enablebanking.com',
      'Enable Banking (EU and EEA); its paths have no prefix.',
    ),
    ENABLEBANKING_APPLICATION_ID: read.text(null, {
      meaning:
        'Enable Banking: application id. Without it and its key, people link with applications of their own.',
    }),
    ENABLEBANKING_PRIVATE_KEY: read.rsaKey(
      'Enable Banking: private key of the application; signs the token of every request.',
    ),
    ENABLEBANKING_PRIVATE_KEY_FILE: read.file(
      'Enable Banking: file with that private key, in place of `ENABLEBANKING_PRIVATE_KEY`.',
    ),
    ENABLEBANKING_COUNTRIES: read.countryCodes(
      'Enable Banking: the countries whose banks people choose from, separated by commas.',
      'those of the application',
    ),
    UPSTREAM_TIMEOUT_MS: read.integer(
      20_000,
      anyTimeout,
      'Milliseconds for one call to a provider: connecting, waiting and reading.',
    ),
    REQUEST_TIMEOUT_MS: read.integer(
      60_000,
      anyTimeout,
      'Milliseconds for one request in total; then it is answered with 503.',
    ),
    SYNC_INTERVAL_MINUTES: read.integer(
      360,
      { min: 1, max: 525_600 },
      `Minutes between scheduled syncs of a connection (rows of SnapTrade, SimpleFIN and Enable Banking at most once in 24 h); operators and providers can ask for one at any time.`,
    ),
  },
  Cache: {
    CACHE_MAX_ENTRY_BYTES: read.integer(
      1_048_576,
      { min: 0, max: 1_073_741_824 },
      'A larger answer is not cached (`X-Cache: BYPASS`).',
    ),
    CACHE_MAX_BYTES: read.integer(
      134_217_728,
      { min: 1024, max: 1_099_511_627_776 },
      'Bytes of the cache in this process’s memory, in total. One user may use at most an eighth of them, in Valkey or Redis too.',
    ),
  },
  Limits: {
    RATE_LIMIT_CHEAP: rate(60, 'connections, accounts and categories, per key'),
    RATE_LIMIT_MID: rate(30, 'balances, per key'),
    RATE_LIMIT_HEAVY: rate(30, 'transactions, holdings and trades, per key'),
    RATE_LIMIT_PREAUTH: rate(60, 'failed authentication, per address and start of the token'),
    RATE_LIMIT_PREAUTH_IP: rate(
      6000,
      'failed authentication, per address alone (IPv6: per /64; a /56 may fail ten times as often)',
    ),
    RATE_LIMIT_REGISTER: rate(60, 'OAuth client registrations, per address'),
    RATE_LIMIT_TOKEN: rate(
      120,
      'OAuth token, revocation and authorization requests, each counted separately, per address',
    ),
    RATE_LIMIT_SIGNIN: rate(
      30,
      'sign-ins and sign-ups, per address. An account counts failures only: ten, then one more each minute, at most 100 a day, forgotten on success. Wrong codes of a second factor are always limited in this way',
    ),
    CONCURRENCY_HEAVY: read.integer(
      4,
      { min: 0, max: 10_000 },
      'Transactions, holdings and trades requests in flight, per key. `0`: no limit.',
    ),
  },
  'Events and agents': {
    WEBHOOK_ALLOW_PRIVATE: read.flag(null, {
      meaning:
        'Allows events to be sent to loopback and private addresses, by plain http and to any port.',
      defaultText: '`false`; `true` in sandbox mode on a loopback `HOST`',
    }),
    WEBHOOK_RETRY_SCHEDULE: read.integers(
      [0, 5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400],
      { min: 0, max: 604_800, count: 50 },
      'Seconds before each attempt to deliver an event, each jittered by a tenth; after the last attempt the delivery has failed.',
    ),
    EVENT_RETENTION_HOURS: read.integer(
      72,
      { min: 0, max: 8760 },
      'Hours for which a payload is kept, encrypted, for replay, and longer only while a delivery is pending; `0` deletes it on delivery.',
    ),
    MCP_MAX_ANSWER_BYTES: read.integer(
      90_000,
      { min: 0, max: 16_777_216 },
      'Ends a page of list_accounts, list_transactions or list_trades earlier; `0`: no bound.',
    ),
    MCP_EXTRA_TOOLS: read.flag(false, {
      meaning:
        'Agents also get `list_changes` and `summarize_transactions` ([agents](agents.md#more-tools)); without it, the six tools of the contract alone.',
    }),
  },
  OpenTelemetry: {
    OTEL_EXPORTER_OTLP_ENDPOINT: read.optionalWebUrl({
      meaning:
        'Sends traces and metrics to this collector by OTLP over HTTP, below `/v1/traces` and `/v1/metrics` ([watching](operations/watch.md#opentelemetry)).',
      defaultText: 'none: nothing is sent',
    }),
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: read.optionalWebUrl({
      meaning: 'The whole URL for traces, in place of the one above.',
    }),
    OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: read.optionalWebUrl({
      meaning: 'The whole URL for metrics.',
    }),
    OTEL_EXPORTER_OTLP_HEADERS: read.headerPairs(
      'Headers of every request to the collector, such as its key: `authorization=Bearer%20…`.',
    ),
    OTEL_EXPORTER_OTLP_PROTOCOL: read.choice(['http/protobuf'], 'http/protobuf', {
      meaning: 'The only one that is spoken; a collector listens for it on port 4318.',
    }),
    OTEL_EXPORTER_OTLP_COMPRESSION: read.choice(['none', 'gzip'], 'none', {
      meaning: 'How what is sent is compressed.',
    }),
    OTEL_EXPORTER_OTLP_TIMEOUT: read.integer(
      10_000,
      { min: 100, max: 60_000 },
      'Milliseconds for one request to the collector.',
    ),
    OTEL_METRIC_EXPORT_INTERVAL: read.integer(
      60_000,
      { min: 1000, max: 3_600_000 },
      'Milliseconds between two exports of metrics.',
    ),
    OTEL_SERVICE_NAME: read.text('tributary', { meaning: '`service.name` of what is sent.' }),
  },
  Process: {
    ROLE: read.choice(['all', 'api', 'worker'], 'all', {
      meaning:
        'What this process does: `api` answers requests, `worker` does background work and has only the admin listener, `all` does both. Apart they need `DATABASE_URL`; run at least one `worker` or `all`.',
    }),
    LOG_LEVEL: read.choice(logLevels, 'info', {
      meaning: 'Lowest level that is logged: JSON lines on stdout, pretty on a terminal.',
    }),
  },
} as const

type Chapters = typeof chapters
type UnionToIntersection<Union> = (Union extends unknown ? (one: Union) => void : never) extends (
  all: infer All,
) => void
  ? All
  : never
type Settings = UnionToIntersection<Chapters[keyof Chapters]>

export type SettingName = keyof Settings
/** The parsed environment; null for a variable that is unset and has no plain default. */
export type Values = {
  readonly [Name in SettingName]: Settings[Name] extends read.Setting<infer Value> ? Value : never
}

/** Every variable with its setting, in the order of the documentation. */
export const settings: readonly (readonly [SettingName, read.Setting<unknown>])[] = Object.values(
  chapters,
).flatMap((chapter) => Object.entries(chapter) as [SettingName, read.Setting<unknown>][])
