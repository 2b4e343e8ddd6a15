/**
 * What documents say about the repository: their links lead to a file, the paths they cite exist, every
 * variable is listed.
 */
import assert from 'node:assert/strict'
import { dirname, join } from 'node:path/posix'
import { test } from 'node:test'
import { personalVariables } from '#providers/all-facts.ts'
import { settings } from '#settings/settings.ts'
import { codeFiles, exists, files, findLines, isTest, readText } from './tree.ts'

const documents = files.filter((path) => path.endsWith('.md'))

/** Text with code blocks taken out: what they hold is an example. */
const prose = (path: string) => readText(path).replace(/^(`{3,})[^\n]*\n[\s\S]*?^\1/gm, '')

/** The anchor of a heading as GitHub makes it. */
function toAnchor(heading: string): string {
  const plain = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase()
  return plain
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replace(/\s/g, '-')
}

function anchorsOf(path: string): string[] {
  return [...prose(path).matchAll(/^#{1,6}\s+(.+)$/gm)].map(([, heading = '']) => toAnchor(heading))
}

test('every link in a document leads to a file, and every anchor to a heading', () => {
  const broken = documents.flatMap((path) =>
    [...prose(path).matchAll(/\]\(<?([^)\s>]+)>?(?:\s+"[^"]*")?\)/g)]
      .map(([, target = '']) => target)
      .filter((target) => !/^[a-z]+:/i.test(target))
      .filter((target) => {
        const [file = '', anchor] = target.split('#')
        const place = file === '' ? path : join(dirname(path), decodeURIComponent(file))
        if (!exists(place)) return true
        return anchor !== undefined && place.endsWith('.md') && !anchorsOf(place).includes(anchor)
      })
      .map((target) => `${path} → ${target}`),
  )
  assert.deepEqual(broken, [])
})

test('every path that a document cites exists', () => {
  const cited = /`((?:src|sandbox|cli|bench|tests|docs|examples|scripts|\.ci)\/[^`\s]+)`/g
  const lost = documents.flatMap((path) =>
    [...prose(path).matchAll(cited)]
      .map(([, place = '']) => place.replace(/(?::\d+)?[.,;:/]?$/, ''))
      // Patterns and placeholders stand for many files.
      .filter((place) => !/[*{}<>…$]|[A-Z]{4,}|0001_name/.test(place))
      .filter((place) => !exists(place))
      .map((place) => `${path} cites ${place}`),
  )
  assert.deepEqual(lost, [])
})

/** The operators' contract: a variable that is missing here or there is a broken promise. */
const promised =
  `HOST PORT BASE_URL MCP_URL AUTH_URL ADMIN_HOST ADMIN_PORT ADMIN_TOKEN DATA_DIR DATABASE_URL REDIS_URL REDIS_CACHE_URL
  ENCRYPTION_KEY TRUST_PROXY SANDBOX DEFAULT_PLAN SIGN_UP SMTP_URL FISKIL_BASE_URL FISKIL_CLIENT_ID
  FISKIL_CLIENT_SECRET FISKIL_WEBHOOK_SECRET FISKIL_TEAM_ID FISKIL_VERSION AKAHU_BASE_URL AKAHU_OAUTH_URL
  AKAHU_APP_TOKEN AKAHU_APP_SECRET SNAPTRADE_BASE_URL SNAPTRADE_CLIENT_ID SNAPTRADE_CONSUMER_KEY SNAPTRADE_KEY
  UP_BASE_URL SIMPLEFIN_BASE_URL SIMPLEFIN_ALLOW_PRIVATE ENABLEBANKING_BASE_URL ENABLEBANKING_APPLICATION_ID
  ENABLEBANKING_PRIVATE_KEY ENABLEBANKING_PRIVATE_KEY_FILE ENABLEBANKING_COUNTRIES
  UPSTREAM_TIMEOUT_MS REQUEST_TIMEOUT_MS CACHE_MAX_ENTRY_BYTES CACHE_MAX_BYTES BROKERAGE_DURING_TRIAL
  WEBHOOK_ALLOW_PRIVATE WEBHOOK_RETRY_SCHEDULE EVENT_RETENTION_HOURS MCP_MAX_ANSWER_BYTES MCP_EXTRA_TOOLS SYNC_INTERVAL_MINUTES
  OTEL_EXPORTER_OTLP_ENDPOINT OTEL_EXPORTER_OTLP_TRACES_ENDPOINT OTEL_EXPORTER_OTLP_METRICS_ENDPOINT
  OTEL_EXPORTER_OTLP_HEADERS OTEL_EXPORTER_OTLP_PROTOCOL OTEL_EXPORTER_OTLP_COMPRESSION
  OTEL_EXPORTER_OTLP_TIMEOUT OTEL_METRIC_EXPORT_INTERVAL OTEL_SERVICE_NAME
  ROLE LOG_LEVEL RATE_LIMIT_CHEAP RATE_LIMIT_MID RATE_LIMIT_HEAVY RATE_LIMIT_PREAUTH RATE_LIMIT_PREAUTH_IP
  RATE_LIMIT_REGISTER RATE_LIMIT_TOKEN RATE_LIMIT_SIGNIN CONCURRENCY_HEAVY`.split(/\s+/)

/** Read by `tributary setup` alone. */
const promisedToSetup = ['AKAHU_USER_TOKEN', 'SIMPLEFIN_TOKEN', 'UP_TOKEN']

test('.env.example is plain text: it names documents by their path and has no link', () => {
  assert.doesNotMatch(readText('.env.example'), /\]\(/)
  assert.match(readText('.env.example'), /docs\/operations\/install\.md#mail/)
})

test('every promised environment variable is read, documented and in .env.example, and no other', () => {
  const sorted = [...promised].sort()
  const inExample = [...readText('.env.example').matchAll(/^#([A-Z_]+)=/gm)].map(([, name]) => name)
  const inDocument = [...readText('docs/configuration.md').matchAll(/^\| `([A-Z_]+)` \|/gm)].map(
    ([, name]) => name,
  )
  const shown = [...promised, ...promisedToSetup].sort()
  assert.deepEqual(settings.map(([name]) => name).sort(), sorted)
  assert.deepEqual(personalVariables.map(({ name }) => name).sort(), promisedToSetup)
  assert.deepEqual(inExample.sort(), shown)
  assert.deepEqual(inDocument.sort(), shown)
})

/** Where the configuration keeps what a variable says, of those whose part of the product is not built. */
const idle: Readonly<Record<string, RegExp>> = {}

test('a variable is called without effect exactly when nothing beside the configuration reads it', () => {
  const beside = /^src\/(?:config\.|settings\/|providers\/\w+\/facts\.)|\.test\.ts$/
  const readers = codeFiles.filter((path) => /^(?:src|sandbox)\//.test(path) && !beside.test(path))
  const called = settings.filter(([, { meaning }]) => meaning.includes('No effect yet'))
  assert.deepEqual(called.map(([name]) => name).sort(), Object.keys(idle).sort())
  const read = Object.entries(idle).filter(([, pattern]) => findLines(readers, pattern).length > 0)
  assert.deepEqual(read, [])
})

test('docs/storage.md names the keys of Valkey/Redis that src/fast writes, and no other', () => {
  const drivers = codeFiles.filter(
    (path) => /^src\/fast\/redis[\w-]*\.ts$/.test(path) && !isTest(path),
  )
  const source = drivers.map(readText).join('\n')
  const written = [...source.matchAll(/seal\.name\('(\w+)'|probeKey: `\$\{prefix\}(\w+)`/g)]
  const concerns = new Set(written.map(([, sealed, bare]) => sealed ?? bare))
  const page = [...readText('docs/storage.md').matchAll(/^\| `tributary:(\w+)(?::<hash>)?` \|/gm)]
  assert.deepEqual(page.map(([, name]) => name).sort(), [...concerns].sort())
  assert.ok(concerns.size >= 5)
})

test('decision records are numbered without gaps or duplicates', () => {
  const numbers = files
    .filter((path) => path.startsWith('docs/decisions/') && path.endsWith('.md'))
    .map((path) => /\/(\d{4})-[a-z0-9-]+\.md$/.exec(path)?.[1] ?? path)
  const wanted = numbers.map((_, index) => String(index + 1).padStart(4, '0'))
  assert.deepEqual(numbers.sort(), wanted)
})

test('migrations are numbered without gaps or duplicates', () => {
  const numbers = files
    .filter((path) => path.startsWith('src/store/migrations/'))
    .map((path) => /\/(\d{4})_[a-z0-9_]+\.sql$/.exec(path)?.[1] ?? path)
  const wanted = numbers.map((_, index) => String(index + 1).padStart(4, '0'))
  assert.deepEqual(numbers.sort(), wanted)
})

test('every action of the audit is in the table of its actions', () => {
  const actions = [
    ...readText('src/contract/audit.ts').matchAll(/'([a-z]+\.[a-z-]+)'(?::| as const|$)/gm),
  ]
  const [, table = ''] = readText('docs/admin-api.md').split('| action | who | subject |')
  const rows = table.slice(0, table.indexOf('\n\n'))
  const missing = actions.map(([, name]) => name).filter((name) => !rows.includes(`\`${name}\``))
  assert.ok(actions.length > 40)
  assert.deepEqual(missing, [])
})
