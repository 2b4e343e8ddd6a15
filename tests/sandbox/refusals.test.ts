/** What the sandbox commands refuse, and that they exist in sandbox mode alone. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { adminToken, makeWorld } from '#tests/request/admin/world.ts'
import { startService } from '#tests/support/service.ts'
import { commandsOf, runCommand } from './command.ts'

const service = await startService()
const sandbox = commandsOf(service)
after(() => service.close())

test('exit 1: unknown people and providers, fields that do not fit, numbers out of bounds', async () => {
  const add = ['rows', 'add', 'healthy', '--amount']
  const cases: [string[], RegExp][] = [
    [['login', 'break', 'nobody'], /^person: is not known/],
    [['login', 'break', '__proto__'], /^person: is not known/],
    [
      ['consent', 'expire', 'unpriced', '--provider', 'akahu'],
      /^--provider: unpriced does not live there, only at snaptrade/,
    ],
    [
      ['consent', 'expire', 'healthy', '--provider', 'bank'],
      /^--provider: must be one of fiskil, akahu, snaptrade/,
    ],
    [['latency', 'bank', '5'], /^provider: must be one of/],
    [['latency', 'akahu', 'soon'], /^MS: must be a whole number/],
    [['latency', 'akahu', '600001'], /^MS: must be at most 600000/],
    [['fail', 'akahu', '200'], /^STATUS: must be at least 400/],
    [['fail', 'akahu', '500', '--times', '0'], /^--times: must be at least 1/],
    [[...add, '1,50'], /^--amount: must be a plain decimal/],
    [[...add, '1', '--symbol', 'AAPL'], /^--symbol: is for trades alone/],
    [[...add, '1', '--account', 'None'], /^no account is called "None"; there are "/],
    [[...add, '1', '--date', '2026-11-21'], /^--date: must be an ISO 8601 instant/],
    [['rows', 'change', 'healthy'], /nothing would change/],
    [['rows', 'change', 'healthy', '--row', 'x', '--amount', '1'], /there is no row x/],
    [
      ['rows', 'change', 'expired', '--provider', 'akahu', '--account', 'x', '--amount', '1'],
      /no account/,
    ],
  ]
  for (const [words, expected] of cases) {
    const details = await sandbox.refusal(...words)
    assert.match(details.join('\n'), expected, words.join(' '))
  }
})

test('exit 2: a verb that does not exist, a place that is missing, a port that is none', async () => {
  const cases: [string[], RegExp][] = [
    [['rows'], /there is no "sandbox rows"/],
    [['rows', 'drop'], /there is no "sandbox rows"/],
    [['latency', 'akahu'], /MS is missing\nusage: tributary sandbox latency PROVIDER MS\n/],
    [['fail', 'akahu', '500', '1'], /"1" is one argument too many/],
    [['--akahu-port', '70000'], /--akahu-port must be a port from 0 to 65535/],
    [['--port', '1'], /Unknown option '--port'\nusage: tributary sandbox \[--fiskil-port N\]/],
  ]
  for (const [words, expected] of cases) {
    const { code, err } = await sandbox.run(...words)
    assert.equal(code, 2, words.join(' '))
    assert.match(err, expected)
  }
})

test('the paths need the admin token, and every change is in the audit without its data', async () => {
  const response = await fetch(`${service.adminUrl}/admin/sandbox/people`)
  assert.equal(response.status, 401)
  await sandbox.json('rows', 'add', 'healthy', '--amount', '-77.31', '--description', 'SECRET SHOP')
  const lines = service.logLines.join('')
  assert.match(lines, /\/admin\/sandbox\/people\/:person\/rows/)
  assert.doesNotMatch(lines, /SECRET SHOP|77\.31/)
  const [entry] = await service.app.store.auditLog.list({ userId: null, after: null, limit: 1 })
  assert.deepEqual([entry?.action, entry?.subject], ['sandbox.rows.add', 'healthy fiskil'])
})

test('outside sandbox mode its routes are 404, and the command says why', async (t) => {
  const world = await makeWorld(t)
  assert.equal((await world.ask('GET', '/admin/sandbox/people')).status, 404)
  const url = await world.door.listen({ host: '127.0.0.1', port: 0 })
  const live = { ADMIN_URL: url, ADMIN_TOKEN: adminToken }
  const { code, err } = await runCommand(['sandbox', 'reset'], live)
  assert.equal(code, 1)
  assert.match(
    err,
    /^tributary: This server has no sandbox: it is not in sandbox mode \(not_found\)\n$/,
  )
})
