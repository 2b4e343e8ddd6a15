/**
 * `tributary export` against the service: whole files, exact amounts, and no end where the reading failed.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { fiskilRow, plantFiskil } from '#tests/request/list-transactions/planted.ts'
import { addNarrowKey } from '#tests/request/narrow-keys/narrow.ts'
import { runCommand } from '#tests/support/command.ts'
import { type Service, type ServiceUser, startService } from '#tests/support/service.ts'

let service: Service
let user: ServiceUser
// biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects.
let accounts: any[]
before(async () => {
  service = await startService()
  user = await service.createUser()
  await service.link(user, 'history', 'fiskil')
  await service.link(user, 'healthy', 'snaptrade')
  accounts = (await service.get('/v1/accounts?limit=200', user)).body.data
})
after(() => service.close())

const run = (args: readonly string[], more: Readonly<Record<string, string>> = {}) =>
  runCommand(['export', ...args], {
    environment: { TRIBUTARY_API_KEY: user.key, TRIBUTARY_BASE_URL: service.baseUrl, ...more },
  })

/** The account of the most rows, and all of them as REST shows them. */
async function longest() {
  const account = accounts.find(
    ({ provider, type }) => provider === 'fiskil' && type === 'transaction',
  )
  const rows = []
  for (let offset = 0; ; ) {
    const query = `connectionId=${account.connectionId}&accountId=${account.id}&from=2021-01-01&limit=500&offset=${offset}`
    const { body } = await service.get(`/v1/transactions?${query}`, user)
    rows.push(...body.data)
    if (!body.pagination.hasMore) return { account, rows }
    offset = body.pagination.offset + body.pagination.limit
  }
}

test('years of rows are one file, each row once and in order, with the digits of the bank', async () => {
  const { account, rows } = await longest()
  assert(rows.length > 5000, 'more than one request may read')
  const { code, out, err } = await run([
    '--account',
    account.id,
    '--from',
    '2021-01-01',
    '--format',
    'json',
  ])
  assert.deepEqual(
    [code, err.split('\n').at(-2)],
    [0, `${rows.length} rows of ${account.name}, AUD`],
  )
  assert.deepEqual(JSON.parse(out).rows, rows)
  const csv = await run(['--account', account.id, '--from', '2021-01-01', '--format', 'csv'])
  const lines = csv.out.trimEnd().split('\r\n')
  assert.equal(lines.length, rows.length + 1)
  assert.deepEqual(
    lines.slice(1, 50).map((line) => line.split(',')[2]),
    rows.slice(0, 49).map(({ amount }) => amount),
  )
})

test('a failure in the middle exits 1, says after which row, and leaves a file without an end', async () => {
  const { account, rows } = await longest()
  const asked = service.sandbox.fiskil.requests.length
  service.clock.advance(3 * 3_600_000)
  let pages = 0
  service.sandbox.fiskil.addFault({
    when({ path }) {
      if (!path.includes('/transactions')) return false
      pages += 1
      return pages > 5
    },
    does: { kind: 'reply', reply: { status: 404, body: { error: 'gone' } } },
  })
  const { code, out, err } = await run([
    '--account',
    account.id,
    '--from',
    '2021-01-01',
    '--format',
    'ofx',
  ])
  service.sandbox.fiskil.clearFaults()
  assert(service.sandbox.fiskil.requests.length > asked)
  assert.equal(code, 1)
  assert(out.startsWith('OFXHEADER') && !out.includes('</OFX>') && !out.includes('</BANKTRANLIST>'))
  const written = out.split('<STMTTRN>').length - 1
  assert(written > 0 && written < rows.length)
  assert(
    err.includes(`it stops after ${written} rows, the last whole one is ${rows[written - 1].id}`),
    err,
  )
})

test('a disk that fills up: exit 1, and the last row that the file has whole is named', async (t) => {
  const { account, rows } = await longest()
  const folder = mkdtempSync(join(tmpdir(), 'tributary-export-'))
  t.after(() => rmSync(folder, { recursive: true }))
  for (const format of ['csv', 'ofx', 'json']) {
    const file = join(folder, `rows.${format}`)
    const args = ['export', '--account', account.id, '--from', '2021-01-01', '--format', format]
    // A limit of 16 blocks is met as a full disk is: the system takes a part, and then nothing.
    const limited = `ulimit -f 16; exec "$0" "$@" > ${file}`
    const main = fileURLToPath(new URL('../../cli/main.ts', import.meta.url))
    const child = spawn('/bin/sh', ['-c', limited, process.execPath, main, ...args], {
      env: { TRIBUTARY_API_KEY: user.key, TRIBUTARY_BASE_URL: service.baseUrl },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    let err = ''
    child.stderr.on('data', (bytes) => {
      err += bytes
    })
    const [code] = await once(child, 'close')
    assert.equal(code, 1, err)
    const [, count = '', id] = /stops after (\d+) rows, the last whole one is (\S+)/.exec(err) ?? []
    assert.match(err, /^tributary: Standard output could not be written: /, err)
    assert.equal(rows[Number(count) - 1]?.id, id)
    const text = readFileSync(file, 'utf8')
    const ids = rows.filter((row) => text.includes(row.id)).length
    assert(ids === Number(count) || ids === Number(count) + 1, `${ids} of ${count}`)
  }
})

test('an unknown account, a wrong key, a bad day and no server: one line each, exit 1, nothing on standard output', async () => {
  const [account] = accounts
  const id = account.id
  for (const [args, more, message] of [
    [['--account', 'nothing', '--format', 'csv'], {}, /sees no account nothing/],
    [['--account', id, '--format', 'csv'], { TRIBUTARY_API_KEY: `${user.key}x` }, /invalid/],
    [['--account', id, '--format', 'csv'], { TRIBUTARY_API_KEY: '' }, /TRIBUTARY_API_KEY/],
    [['--account', id, '--format', 'csv', '--from', 'yesterday'], {}, /from must be a day/],
    [
      ['--account', id, '--format', 'csv'],
      { TRIBUTARY_BASE_URL: 'http://127.0.0.1:1' },
      /did not answer/,
    ],
    [
      ['--account', id, '--format', 'csv'],
      { TRIBUTARY_BASE_URL: 'http://tributary.example' },
      /https/,
    ],
  ] as const) {
    const { code, out, err } = await run(args, more)
    assert.deepEqual([code, out], [1, ''], err)
    assert.match(err, message)
    assert(!err.includes(user.key))
  }
})

test('a key that sees no balances exports a table without a word, and a statement that says it has none (R43)', async () => {
  const account = accounts.find(({ provider }) => provider === 'fiskil')
  const { key } = await addNarrowKey(service, user, { scopes: ['accounts', 'transactions'] })
  const write = (format: string) =>
    run(['--account', account.id, '--format', format], { TRIBUTARY_API_KEY: key })
  const csv = await write('csv')
  assert.deepEqual([csv.code, csv.err.split('\n').length], [0, 2])
  const json = await write('json')
  assert.match(json.err, /^The file is without a balance: This key lacks the scope balances/)
  assert.equal(json.code, 0)
  const file = JSON.parse(json.out)
  assert.deepEqual([file.balance, file.rows.length], [null, csv.out.split('\r\n').length - 2])
  const ofx = await write('ofx')
  assert.deepEqual([ofx.code, ofx.out.includes('BALAMT')], [0, false])
})

test('wrong usage is exit 2: no account, no format, another format', async () => {
  for (const args of [
    [],
    ['--account', 'a'],
    ['--account', 'a', '--format', 'pdf'],
    ['--format', 'csv'],
    ['a'],
  ]) {
    const { code, err } = await run(args)
    assert.equal(code, 2)
    assert.match(err, /usage: tributary export/)
  }
})

test('trades of a broker are written as CSV and JSON, and OFX says what to choose', async () => {
  const broker = accounts.filter(({ provider }) => provider === 'snaptrade')
  let rows = 0
  for (const { id, connectionId } of broker) {
    const { body } = await service.get(
      `/v1/trades?connectionId=${connectionId}&accountId=${id}&limit=500`,
      user,
    )
    const { code, out } = await run(['--account', id, '--format', 'json'])
    assert.equal(code, 0)
    assert.deepEqual(JSON.parse(out).rows.slice(0, 500), body.data)
    rows += body.data.length
  }
  assert(rows > 0)
  const { code, err } = await run(['--account', broker[0].id, '--format', 'ofx'])
  assert.equal(code, 1)
  assert.match(err, /--format csv or json/)
})

test('a statement of OFX with a row in another currency exits 1, and says which formats can hold it', async () => {
  const other = await service.createUser()
  const [first] = service.sandbox.fiskil.people.healthy.consents.flatMap((one) => one.accounts)
  assert(first !== undefined)
  plantFiskil(service, String(first.body.display_name), [
    fiskilRow('yen', new Date(service.clock.now() - 86_400_000).toISOString(), { currency: 'JPY' }),
  ])
  await service.link(other, 'healthy', 'fiskil')
  const upstreamId = String(first.body.account_id)
  const account = (await service.accounts(other)).find((one) => one.upstreamId === upstreamId)
  const write = (format: string) =>
    run(['--account', account?.id ?? '', '--format', format], { TRIBUTARY_API_KEY: other.key })
  const { code, err } = await write('ofx')
  assert.equal(code, 1)
  assert.match(
    err,
    /A transaction is in JPY, and an OFX file has one currency, here AUD: choose csv/,
  )
  assert.match(err, /no whole row was written/)
  const csv = await write('csv')
  assert.equal(csv.code, 0)
  assert.match(csv.out, /,-1\.00,JPY,/)
})

test('an export from before what a bank gives says so, and one of what it gives does not', async () => {
  const owner = await service.createUser()
  await service.link(owner, 'healthy', 'enablebanking')
  const [account = assert.fail()] = await service.accounts(owner)
  const own = { TRIBUTARY_API_KEY: owner.key }
  const args = ['--account', account.id, '--format', 'csv', '--from']
  const old = await run([...args, '2020-01-01'], own)
  assert.equal(old.code, 0, old.err)
  assert.match(
    old.err,
    /^From 2020-01-01 on was asked for: a bank mostly gives rows of the last 90/m,
  )
  const recent = await run([...args, Temporal.Now.plainDateISO('UTC').toString()], own)
  assert.doesNotMatch(recent.err, /was asked for/)
})
