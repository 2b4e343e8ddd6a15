/** The examples against a service as `npm start` runs it, and against one that answers wrongly. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, type TestContext, test } from 'node:test'
import { type Started, startProcess } from '#tests/support/process.ts'
import { readText, root } from './files.ts'

/** What the others share, and what waits for events (tests/deploy/receivers.test.ts). */
const others = ['client.ts', 'receive-webhooks.ts']
const programs = readdirSync(join(root, 'examples')).filter(
  (name) => name.endsWith('.ts') && !others.includes(name),
)

interface Outcome {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

function runExample(name: string, environment: Record<string, string>, ...args: string[]) {
  const file = join(root, 'examples', name)
  const child = spawn(process.execPath, [file, ...args], {
    env: { TRIBUTARY_API_KEY: 'none', ...environment },
    timeout: 30_000,
  })
  const output = { out: '', err: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output.out += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output.err += text
  })
  return new Promise<Outcome>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, ...output }))
  })
}

let folder: string
let running: Started
let welcome: string
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tributary-examples-'))
  running = startProcess({ DATA_DIR: folder })
  welcome = await running.ready()
})
after(async () => {
  running.child.kill('SIGTERM')
  await running.ended
  await rm(folder, { recursive: true, force: true })
})

const access = () => ({
  TRIBUTARY_BASE_URL: new URL(running.printed('REST API')).origin,
  TRIBUTARY_API_KEY: running.printed('professional'),
})

function argumentsOf(name: string): string[] {
  if (['poll-balances.ts', 'follow-events.ts'].includes(name)) return ['2']
  // The account of the printed request has rows for several windows.
  const [, accountId = ''] = /[?&]accountId=([\w-]+)/.exec(welcome) ?? []
  return ['sum-an-account.ts', 'follow-pending.ts'].includes(name) ? [accountId] : []
}

/** What each prints when all is well. */
const expected: Readonly<Record<string, RegExp>> = {
  'ask-as-an-agent.ts':
    /^tools: .*list_trades.*\nlist_accounts and GET \/v1\/accounts say the same$/m,
  // Nothing has happened since its consumer was made.
  'follow-events.ts': /^(?:[\w-]+ \w+\.\w+\n)*$/,
  'follow-pending.ts':
    /^(?:.+ -?\d+\.\d+ is pending\n)*(?:.+: \d+ rows, \d+ of them pending\n){2}$/,
  'poll-balances.ts': /^(?:.+: -?\d+\.\d+ [A-Z]{3}\n)+$/,
  'sum-an-account.ts':
    /: \d{3,} transactions within a year\nin {2}\d+\.\d+\nout -\d+\.\d+\nnet -?\d+\.\d+\n$/,
}

for (const name of programs) {
  test(`examples/${name} ends well on the sandbox`, async () => {
    const environment = {
      ...access(),
      POLL_SECONDS: '0',
      FOLLOW_ROUNDS: '2',
      WAIT_SECONDS: '0',
      CURSOR_FILE: join(folder, name),
    }
    const { code, out, err } = await runExample(name, environment, ...argumentsOf(name))
    assert.equal(code, 0, err)
    assert.match(out, expected[name] ?? /^an example without an expectation$/)
  })
}

test('every example is in the table of examples/README.md', () => {
  const page = readText('examples/README.md')
  assert.deepEqual(
    programs.filter((name) => !page.includes(`| [${name}](${name}) |`)),
    [],
  )
})

const account = { id: 'a', connectionId: 'c', name: 'Everyday', currency: 'AUD' }
const oneBank: Readonly<Record<string, unknown>> = {
  '/v1/connections': { data: [{ id: 'c', category: 'banking' }] },
  '/v1/accounts': {
    data: [account],
    pagination: { total: 1, limit: 200, offset: 0, hasMore: false },
  },
}

test('a wrong key, no key, words for numbers and too many arguments are one clear line each', async () => {
  for (const name of programs) {
    const usage = name === 'ask-as-an-agent.ts' ? ['one'] : ['1', 'two']
    const cases: readonly (readonly [Record<string, string>, string[], RegExp])[] = [
      [{ ...access(), TRIBUTARY_API_KEY: 'trib_live_wrong' }, [], /^the server answered 401: /],
      [{ ...access(), TRIBUTARY_API_KEY: '' }, [], /^set .*TRIBUTARY_API_KEY/],
      [{ ...access(), TRIBUTARY_BASE_URL: 'nowhere' }, [], /^baseUrl must be an address/],
      [{ ...access(), TRIBUTARY_BASE_URL: 'http://127.0.0.1:9' }, [], /did not answer/],
      [access(), usage, /^usage: /],
      [access(), ['--limit=1'], /^usage: /],
    ]
    for (const [environment, args, line] of cases) {
      const { code, out, err } = await runExample(name, environment, ...args)
      assert.deepEqual([code, out], [1, ''], `${name} ${args.join(' ')}: ${err}`)
      assert.match(err, line)
      assert.equal(err.trimEnd().split('\n').length, 1, err)
    }
  }
  const words = await runExample('poll-balances.ts', access(), 'many')
  assert.deepEqual([words.code, words.out], [1, ''])
  assert.equal(words.err, 'rounds must be a whole number of at least 1, not "many"\n')
})

type Row = readonly [id: string, amount: unknown]

/** Cut short where there is more: then `limit` says how many rows it has (readings R17, R18). */
const windowOf = (rows: readonly Row[], total: number, hasMore: boolean, offset = 0) => ({
  data: rows.map(([id, amount]) => ({
    id,
    amount,
    direction: String(amount).startsWith('-') ? 'debit' : 'credit',
  })),
  pagination: { total, limit: hasMore ? rows.length : 500, offset, hasMore },
})

/** A service with given answers; `answers` is called once per request that `oneBank` does not answer. */
async function pretend(
  t: TestContext,
  answers: (asked: URL) => { status?: number; headers?: Record<string, string>; body: unknown },
): Promise<string> {
  const server: Server = createServer((request, response) => {
    const asked = new URL(request.url ?? '', 'http://localhost')
    const {
      status = 200,
      headers = {},
      body,
    } = Object.hasOwn(oneBank, asked.pathname) ? { body: oneBank[asked.pathname] } : answers(asked)
    response.writeHead(status, headers).end(JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('a sum over two windows, the first cut short, keeps every row and every digit', async (t) => {
  const offsets: string[] = []
  const TRIBUTARY_BASE_URL = await pretend(t, ({ searchParams }) => {
    const offset = searchParams.get('offset') ?? '0'
    offsets.push(offset)
    const body =
      offset === '0'
        ? windowOf(
            [
              ['1', '0.1'],
              ['2', '9007199254740993.00'],
            ],
            2,
            true,
          )
        : windowOf(
            [
              ['3', '0.2'],
              ['4', '-0.001'],
            ],
            4,
            false,
            2,
          )
    return { body }
  })
  const { code, out, err } = await runExample('sum-an-account.ts', { TRIBUTARY_BASE_URL })
  assert.equal(code, 0, err)
  assert.deepEqual(offsets, ['0', '2'])
  assert.match(out, /in {2}9007199254740993\.30\nout -0\.001\nnet 9007199254740993\.299\n/)
})

const wrong: Readonly<Record<string, readonly Row[]>> = {
  'an amount that is a number': [
    ['1', 1.5],
    ['2', '2'],
  ],
  'a row that comes twice': [
    ['1', '1'],
    ['1', '1'],
  ],
  'a window with a row too few': [['1', '1']],
}

for (const [what, rows] of Object.entries(wrong)) {
  test(`${what} ends the sum with 1`, async (t) => {
    const TRIBUTARY_BASE_URL = await pretend(t, () => ({ body: windowOf(rows, 2, false) }))
    const { code, err } = await runExample('sum-an-account.ts', { TRIBUTARY_BASE_URL })
    assert.equal(code, 1)
    assert.match(err, /AssertionError|not decimal text/)
  })
}

test('polling waits as long as Retry-After says, and an account left out ends it with 1', async (t) => {
  const times: number[] = []
  const TRIBUTARY_BASE_URL = await pretend(t, () => {
    times.push(performance.now())
    if (times.length === 1) return { status: 429, headers: { 'retry-after': '1' }, body: {} }
    const balance = { accountId: 'a', currentBalance: '12.50', currency: 'AUD' }
    return { body: { data: times.length === 2 ? [balance] : [] } }
  })
  const { code, out, err } = await runExample('poll-balances.ts', {
    TRIBUTARY_BASE_URL,
    POLL_SECONDS: '0',
  })
  assert.equal(code, 1)
  assert.equal(out, 'Everyday: 12.50 AUD\n')
  assert.match(err, /Everyday is missing from the answer/)
  assert.ok((times[1] ?? 0) - (times[0] ?? 0) >= 990)
})
