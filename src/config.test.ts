/** How the environment is read: defaults, every refusal, all problems at once, no secret in any message. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import type { Environment } from '#settings/environment-file.ts'
import { settings } from '#settings/settings.ts'
import { ConfigError, readConfig, toOrigins } from './config.ts'

const read = (environment: Environment = {}) => readConfig(environment, '/srv/tributary')

function problemsOf(environment: Environment): readonly string[] {
  try {
    read(environment)
  } catch (error) {
    assert.ok(error instanceof ConfigError)
    for (const problem of error.problems) assert.ok(error.message.includes(problem))
    return error.problems
  }
  return []
}

const key = Buffer.alloc(32, 7).toString('base64')
const fiskil = { FISKIL_CLIENT_ID: 'team_1', FISKIL_CLIENT_SECRET: 'fiskil-secret' }
const live = { SANDBOX: 'false' }

test('an empty environment is sandbox mode on loopback with the documented defaults', () => {
  const config = read()
  assert.equal(config.mode, 'sandbox')
  assert.deepEqual(config.listener, { host: '127.0.0.1', port: 3000, isLoopback: true })
  assert.deepEqual(config.adminListener, { host: '127.0.0.1', port: 3001, isLoopback: true })
  assert.equal(config.dataDir, '/srv/tributary/data')
  assert.equal(config.storeDir, '/srv/tributary/data/sandbox')
  assert.deepEqual(config.plans, { defaultPlan: 'professional', brokerageDuringTrial: false })
  assert.equal(config.signUp, 'open')
  assert.equal(config.events.allowPrivate, true)
  assert.deepEqual(
    config.events.retryScheduleSeconds,
    [0, 5, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400],
  )
  assert.equal(config.events.retentionHours, 72)
  assert.deepEqual(config.cache, { maxEntryBytes: 1_048_576, maxBytes: 134_217_728 })
  assert.deepEqual(config.limits, {
    cheap: 60,
    mid: 30,
    heavy: 30,
    preauth: 60,
    preauthIp: 6000,
    register: 60,
    token: 120,
    signin: 30,
    heavyInFlight: 4,
  })
  assert.equal(config.upstreamTimeoutMs, 20_000)
  assert.equal(config.requestTimeoutMs, 60_000)
  assert.equal(config.syncIntervalMinutes, 360)
  assert.equal(config.mcpMaxAnswerBytes, 90_000)
  assert.equal(config.role, 'all')
  assert.equal(config.logLevel, 'info')
  assert.deepEqual(config.warnings, [])
  for (const unset of [
    'databaseUrl',
    'redisUrl',
    'redisCacheUrl',
    'encryptionKeys',
    'adminToken',
  ] as const) {
    assert.equal(config[unset], null)
  }
})

test('an empty or blank variable counts as unset', () => {
  const blank = Object.fromEntries(settings.map(([name], index) => [name, index % 2 ? '' : ' \t']))
  assert.deepEqual(inspect(read(blank)), inspect(read()))
})

test('the configuration is frozen to its leaves', () => {
  const config = read({ ...fiskil, TRUST_PROXY: '10.0.0.1' })
  const visit = (value: unknown, path: string): void => {
    if (typeof value !== 'object' || value === null || path.endsWith('Secret')) return
    assert.ok(Object.isFrozen(value), `${path} is not frozen`)
    for (const [name, part] of Object.entries(value)) visit(part, `${path}.${name}`)
  }
  visit(config, 'config')
})

test('every problem is reported in one go, one line each, in the order of the documentation', () => {
  const problems = problemsOf({
    HOST: '0.0.0.0',
    PORT: 'abc',
    RATE_LIMIT_CHEAP: '-1',
    LOG_LEVEL: 'loud',
    DATABASE_URL: 'postgres://db/tributary',
    AKAHU_APP_SECRET: 's',
  })
  assert.deepEqual(problems, [
    'PORT: got "abc", should be a whole number from 0 to 65535',
    'RATE_LIMIT_CHEAP: got "-1", should be a whole number from 0 to 1000000000',
    'LOG_LEVEL: got "loud", should be one of fatal, error, warn, info, debug, trace, silent',
    'AKAHU_APP_TOKEN: not set, should be set together with AKAHU_APP_SECRET',
    'BASE_URL: not set, should be the public origin, since HOST is not a loopback address',
    'ENCRYPTION_KEY: not set, should be set together with DATABASE_URL (openssl rand -base64 32), the same on every process',
  ])
})

/** Variable and a value that is refused. */
const refused: readonly [string, string][] = [
  ['HOST', '300.1.1.1'],
  ['HOST', 'http://x'],
  ['HOST', 'a b'],
  ['PORT', '65536'],
  ['PORT', '3000.0'],
  ['PORT', '0x10'],
  ['BASE_URL', 'bank.example.com'],
  ['BASE_URL', 'ftp://bank.example.com'],
  ['BASE_URL', 'https://bank.example.com/api'],
  ['BASE_URL', 'https://bank.example.com?x=1'],
  ['BASE_URL', 'https://bank.example.com#x'],
  ['BASE_URL', 'https://user:pw@bank.example.com'],
  ['BASE_URL', 'https:bank.example.com'],
  ['MCP_URL', 'https://bank.example.com/mcp'],
  ['AUTH_URL', 'javascript:alert(1)'],
  ['FISKIL_BASE_URL', 'https://api.fiskil.com/?x=1'],
  ['DATABASE_URL', 'mysql://db/x'],
  ['DATABASE_URL', 'postgres:db'],
  ['REDIS_URL', 'http://cache'],
  ['REDIS_URL', 'redis://cache/limits'],
  ['REDIS_URL', 'redis://cache?db=limits'],
  ['SMTP_URL', 'smtp://u:100%@mail.example.com'],
  ['ENCRYPTION_KEY', 'hello'],
  ['ENCRYPTION_KEY', Buffer.alloc(31).toString('base64')],
  ['ENCRYPTION_KEY', Buffer.alloc(33).toString('base64')],
  ['ENCRYPTION_KEY', `${key},`],
  ['ENCRYPTION_KEY', `${key.slice(0, 42)}x=`],
  ['TRUST_PROXY', 'true'],
  ['TRUST_PROXY', '10.0.0.0/33'],
  ['TRUST_PROXY', '0.0.0.0/0'],
  ['TZ', 'Mars/Olympus'],
  ['TRUST_PROXY', 'proxy.internal'],
  ['TRUST_PROXY', '10.0.0.1,,10.0.0.2'],
  ['SANDBOX', 'yes'],
  ['SANDBOX', 'TRUE'],
  ['DEFAULT_PLAN', 'gold'],
  ['SIGN_UP', 'nobody'],
  ['BROKERAGE_DURING_TRIAL', '1'],
  ['FISKIL_VERSION', '3'],
  ['UPSTREAM_TIMEOUT_MS', '0'],
  ['REQUEST_TIMEOUT_MS', '1e4'],
  ['CACHE_MAX_BYTES', '0'],
  ['CACHE_MAX_ENTRY_BYTES', '1MB'],
  ['WEBHOOK_ALLOW_PRIVATE', 'maybe'],
  ['WEBHOOK_RETRY_SCHEDULE', '0,5,x'],
  ['WEBHOOK_RETRY_SCHEDULE', '0,,5'],
  ['WEBHOOK_RETRY_SCHEDULE', ','],
  ['WEBHOOK_RETRY_SCHEDULE', '0,604801'],
  ['WEBHOOK_RETRY_SCHEDULE', '0,-5'],
  ['WEBHOOK_RETRY_SCHEDULE', Array(51).fill('1').join(',')],
  ['EVENT_RETENTION_HOURS', '-1'],
  ['EVENT_RETENTION_HOURS', '8761'],
  ['EVENT_RETENTION_HOURS', '1.5'],
  ['SYNC_INTERVAL_MINUTES', '0'],
  ['SYNC_INTERVAL_MINUTES', '525601'],
  ['MCP_MAX_ANSWER_BYTES', 'none'],
  ['CONCURRENCY_HEAVY', '4.5'],
  ['ROLE', 'web'],
  ['ADMIN_TOKEN', 'with blank'],
]

for (const [name, value] of refused) {
  test(`${name}=${JSON.stringify(value)} is refused by a line that names it`, () => {
    const problems = problemsOf({ ENCRYPTION_KEY: key, [name]: value })
    assert.equal(problems.length, 1, problems.join('; '))
    assert.match(problems[0] ?? '', new RegExp(`^${name}: got .+, should be .+`))
  })
}

test('a problem never shows the value of a secret, nor what may be one', () => {
  const planted = 'PLANTED-canary value'
  const environment = Object.fromEntries(
    settings.filter(([, setting]) => setting.isSecret).map(([name]) => [name, planted]),
  )
  const problems = problemsOf({
    ...environment,
    BASE_URL: 'https://user:PLANTED-canary@bank.example.com',
  })
  assert.ok(problems.length >= Object.keys(environment).length)
  assert.doesNotMatch(problems.join('\n'), /canary/)
})

test('a configuration that is printed by accident shows no secret', () => {
  const config = read({
    ...fiskil,
    ADMIN_TOKEN: 'canary-admin-token-000',
    ENCRYPTION_KEY: key,
    DATABASE_URL: 'postgres://u:canary@db/x',
    REDIS_URL: 'redis://:canary@cache',
    REDIS_CACHE_URL: 'redis://:canary@answers',
    FISKIL_CLIENT_SECRET: 'canary',
  })
  const printed = inspect(config, { depth: 9, showHidden: true }) + JSON.stringify(config)
  assert.doesNotMatch(printed, /canary/)
  assert.ok(!printed.includes(key))
  assert.equal(config.providers.fiskil?.clientSecret.reveal(), 'canary')
  assert.equal(config.databaseUrl?.reveal(), 'postgres://u:canary@db/x')
})

test('cached answers go where limits go, unless they have a server of their own', () => {
  assert.equal(read({ REDIS_URL: 'redis://one' }).redisCacheUrl?.reveal(), 'redis://one')
  const apart = read({ REDIS_URL: 'redis://one', REDIS_CACHE_URL: 'redis://two' })
  assert.equal(apart.redisUrl?.reveal(), 'redis://one')
  assert.equal(apart.redisCacheUrl?.reveal(), 'redis://two')
  assert.deepEqual(problemsOf({ REDIS_CACHE_URL: 'redis://two' }), [
    'REDIS_URL: not set, should be set together with REDIS_CACHE_URL',
  ])
})

test('the variables that are set are listed in the order of the documentation, without secrets or possible secrets', () => {
  const { given } = readConfig(
    {
      PORT: '8080',
      HOST: '127.0.0.1',
      LOG_LEVEL: ' ',
      ADMIN_TOKEN: 'an-admin-token-of-the-tests',
      DATA_DIR: 'user:pass@host',
      WEBHOOK_RETRY_SCHEDULE: Array(50).fill('60').join(','),
      UNKNOWN: 'x',
    },
    '/srv',
  )
  assert.deepEqual(given, [
    { name: 'HOST', shown: '127.0.0.1' },
    { name: 'PORT', shown: '8080' },
    { name: 'ADMIN_TOKEN', shown: '[secret]' },
    { name: 'DATA_DIR', shown: '[secret]' },
    { name: 'WEBHOOK_RETRY_SCHEDULE', shown: '[secret]' },
  ])
})

test('sandbox mode is the default exactly when neither a provider nor DATABASE_URL is configured', () => {
  const database = { DATABASE_URL: 'postgresql://db/x', ENCRYPTION_KEY: key }
  assert.equal(read().mode, 'sandbox')
  assert.equal(read({ REDIS_URL: 'redis://cache' }).mode, 'sandbox')
  assert.equal(read(fiskil).mode, 'live')
  assert.equal(read(database).mode, 'live')
  assert.equal(read({ ...database, SANDBOX: 'true' }).mode, 'sandbox')
  assert.equal(read(live).mode, 'live')
  // Up is always on, which does not say that it is wanted.
  assert.equal(read({ UP_BASE_URL: 'http://127.0.0.1:4040/api/v1' }).mode, 'sandbox')
})

test('Up needs no credentials of ours: it is on in live mode, and a warning says where its address has no effect', () => {
  assert.equal(read(live).providers.up?.baseUrl, 'https://api.up.com.au/api/v1')
  const elsewhere = { UP_BASE_URL: 'http://127.0.0.1:4040/api/v1' }
  assert.equal(read({ ...live, ...elsewhere }).providers.up?.baseUrl, elsewhere.UP_BASE_URL)
  assert.match(read(elsewhere).warnings.join(), /UP_BASE_URL is set, but SANDBOX is true/)
  assert.doesNotMatch(read({ ...live, ...elsewhere }).warnings.join(), /UP_BASE_URL/)
  // People's own keys are enough: whether anybody is linked is the doctor's question.
  assert.deepEqual(read(live).warnings, [])
})

test('live mode is careful: invitations only, no private webhook targets, data in DATA_DIR itself', () => {
  const config = read(fiskil)
  assert.equal(config.signUp, 'invite')
  assert.equal(config.events.allowPrivate, false)
  assert.equal(config.storeDir, config.dataDir)
})

test('a sandbox that others can reach sends no event to private addresses', () => {
  const config = read({ HOST: '0.0.0.0', BASE_URL: 'https://demo.example.com' })
  assert.equal(config.mode, 'sandbox')
  assert.equal(config.events.allowPrivate, false)
})

test('a provider is configured when all its variables are set; half of them is a problem that names the rest', () => {
  assert.deepEqual(read(fiskil).providers.fiskil?.teamId, 'team_1')
  assert.equal(read(fiskil).providers.fiskil?.version, 'v3')
  assert.equal(read(live).providers.fiskil, null)
  assert.equal(read(fiskil).providers.fiskil?.webhookSecret, null)
  const trade = read({ SNAPTRADE_CLIENT_ID: 'c', SNAPTRADE_CONSUMER_KEY: 'k' }).providers.snaptrade
  assert.equal(trade?.baseUrl, 'https://api.snaptrade.com')
  const akahu = read({ AKAHU_APP_TOKEN: 'app_token_1', AKAHU_APP_SECRET: 's' }).providers.akahu
  assert.equal(akahu?.baseUrl, 'https://api.akahu.io/v1')
  assert.equal(akahu?.oauthUrl, 'https://oauth.akahu.nz')
  assert.deepEqual(problemsOf({ FISKIL_WEBHOOK_SECRET: 'c2lnbmluZyBzZWNyZXQgb2YgYSB0ZXN0' }), [
    'FISKIL_CLIENT_ID, FISKIL_CLIENT_SECRET: not set, should be set together with FISKIL_WEBHOOK_SECRET',
  ])
})

test('the signing secret of Fiskil’s webhooks is Base64 of 16 bytes or more', () => {
  const secret = 'c2lnbmluZyBzZWNyZXQgb2YgYSB0ZXN0'
  const { webhookSecret } =
    read({ ...fiskil, FISKIL_WEBHOOK_SECRET: secret }).providers.fiskil ?? {}
  assert.equal(webhookSecret?.reveal(), secret)
  for (const text of ['a secret', 'c2hvcnQ=', `${secret}%`]) {
    const [problem] = problemsOf({ ...fiskil, FISKIL_WEBHOOK_SECRET: text })
    assert.match(problem ?? '', /^FISKIL_WEBHOOK_SECRET: got a value that is not shown here/)
  }
})

test('URLs lose their trailing slash and keep their path where one is allowed', () => {
  const config = read({
    ...fiskil,
    BASE_URL: 'https://bank.example.com/',
    FISKIL_BASE_URL: 'http://127.0.0.1:4010/fiskil/',
  })
  assert.equal(config.baseUrl, 'https://bank.example.com')
  assert.equal(config.providers.fiskil?.baseUrl, 'http://127.0.0.1:4010/fiskil')
})

test('R2: the three origins default to the one the server listens on, and to BASE_URL when that is set', () => {
  assert.deepEqual(toOrigins(read({ PORT: '0' }), 40123), {
    base: 'http://127.0.0.1:40123',
    mcp: 'http://127.0.0.1:40123',
    auth: 'http://127.0.0.1:40123',
  })
  assert.equal(toOrigins(read({ HOST: '[0:0::1]' })).base, 'http://[::1]:3000')
  assert.equal(toOrigins(read({ HOST: 'localhost' })).base, 'http://localhost:3000')
  assert.deepEqual(
    toOrigins(read({ BASE_URL: 'https://a.example.com', AUTH_URL: 'https://b.example.com' })),
    { base: 'https://a.example.com', mcp: 'https://a.example.com', auth: 'https://b.example.com' },
  )
})

test('on a non-loopback host BASE_URL is required', () => {
  for (const HOST of ['0.0.0.0', '::', '192.168.1.4', 'bank.example.com', '128.0.0.1']) {
    assert.equal(problemsOf({ HOST }).length, 1, HOST)
    assert.equal(problemsOf({ HOST, BASE_URL: 'https://bank.example.com' }).length, 0, HOST)
  }
  for (const HOST of ['localhost', 'LOCALHOST', 'x.localhost', '127.8.8.8', '::1', '[::1]']) {
    assert.equal(problemsOf({ HOST }).length, 0, HOST)
  }
})

test('the admin listener never shares the public one', () => {
  assert.equal(problemsOf({ PORT: '3001' }).length, 1)
  assert.equal(problemsOf({ PORT: '3001', ADMIN_HOST: '0.0.0.0' }).length, 1)
  assert.equal(problemsOf({ PORT: '3001', HOST: 'localhost' }).length, 1)
  assert.equal(problemsOf({ PORT: '3001', ADMIN_HOST: '127.0.0.2' }).length, 0)
  assert.equal(problemsOf({ PORT: '0', ADMIN_PORT: '0' }).length, 0)
})

test('several encryption keys are kept in their order', () => {
  const other = Buffer.alloc(32, 9).toString('base64')
  const keys = read({ ENCRYPTION_KEY: `${key}, ${other}` }).encryptionKeys?.reveal()
  assert.deepEqual(
    keys?.map((bytes) => [bytes.length, bytes[0]]),
    [
      [32, 7],
      [32, 9],
    ],
  )
})

test('trusted proxies are addresses and CIDRs of both families, including IPv4-mapped IPv6 addresses', () => {
  const { trustedProxies } = read({ TRUST_PROXY: '10.0.0.0/8, 192.168.1.4,2001:db8::/32' })
  const trusted = ['10.255.0.1', '192.168.1.4', '::ffff:10.1.2.3', '2001:db8::9']
  const others = ['11.0.0.1', '192.168.1.5', '::ffff:11.1.2.3', '2001:db9::9', '', 'localhost']
  assert.deepEqual(trusted.map(trustedProxies.includes), [true, true, true, true])
  assert.deepEqual(others.map(trustedProxies.includes), Array(others.length).fill(false))
  assert.equal(read({ TRUST_PROXY: 'false' }).trustedProxies.includes('127.0.0.1'), false)
})

test('a doubtful setting that works is a warning, not a refusal', () => {
  const warnings = (environment: Environment) => read(environment).warnings.join('\n')
  assert.match(warnings({ BASE_URL: 'http://bank.example.com' }), /BASE_URL is plain http/)
  assert.equal(warnings({ BASE_URL: 'http://localhost:3000' }), '')
  const exposed = { HOST: '0.0.0.0', BASE_URL: 'http://localhost:3000' }
  assert.match(warnings(exposed), /HOST is not a loopback address .* cookies are not Secure/)
  const many = {
    DATABASE_URL: 'postgresql://db.example/t',
    ENCRYPTION_KEY: Buffer.alloc(32).toString('base64'),
  }
  assert.match(warnings(many), /REDIS_URL is not set: limits, breakers, .* per process/)
  assert.doesNotMatch(warnings({ ...many, REDIS_URL: 'redis://cache.example' }), /REDIS_URL/)
  assert.equal(warnings({ BASE_URL: 'http://[::1]:3000' }), '')
  assert.match(warnings({ ...fiskil, SANDBOX: 'true' }), /credentials of fiskil are not used/)
  assert.match(warnings({ AKAHU_BASE_URL: 'http://127.0.0.1:1' }), /AKAHU_BASE_URL is set, but/)
  assert.match(warnings({ ADMIN_HOST: '0.0.0.0' }), /ADMIN_HOST is not a loopback/)
  const open = { WEBHOOK_ALLOW_PRIVATE: 'true', BASE_URL: 'https://bank.example.com' }
  for (const HOST of ['127.0.0.1', '0.0.0.0']) {
    assert.match(warnings({ ...open, HOST }), /WEBHOOK_ALLOW_PRIVATE is true and other machines/)
  }
  assert.equal(warnings({ WEBHOOK_ALLOW_PRIVATE: 'true' }), '')
  assert.match(warnings({ ROLE: 'api' }), /^ROLE is api on the embedded store.* runs syncs/)
  assert.match(warnings({ ROLE: 'worker' }), /nobody answers requests/)
  assert.doesNotMatch(warnings({ ...many, ROLE: 'worker' }), /ROLE/)
  assert.match(warnings({ ADMIN_TOKEN: 'short' }), /ADMIN_TOKEN has fewer/)
  assert.match(warnings({ RATE_LIMIT_CHAEP: '1' }), /RATE_LIMIT_CHAEP is not a variable/)
  assert.equal(warnings({ PATH: '/bin', REDIS_HOST: 'x' }), '')
})

test('rates and the cap on requests in flight can be turned off with 0', () => {
  const names = settings.map(([name]) => name).filter((name) => /^(RATE_LIMIT|CONCURR)/.test(name))
  assert.equal(names.length, 9)
  const config = read(Object.fromEntries(names.map((name) => [name, '0'])))
  assert.deepEqual([...new Set(Object.values(config.limits))], [0])
})

test('an absolute DATA_DIR is taken as it is, blanks included', () => {
  assert.equal(read({ DATA_DIR: '/var/lib/my bank' }).dataDir, '/var/lib/my bank')
})
