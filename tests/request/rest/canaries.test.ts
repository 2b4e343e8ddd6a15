/**
 * Money data and secrets are never stored in plain text: canaries are planted in everything that a provider
 * sends and in every token, all endpoints are read in good times and bad, and then every log line, every byte
 * of the data directory and the metrics are searched for them.
 */
import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { demoUserTokens } from '#sandbox/akahu/emulator.ts'
import { sandboxProviders } from '#sandbox/magic-users.ts'
import { demoPeople } from '#sandbox/snaptrade/people.ts'
import { toToken } from '#sandbox/up/index.ts'
import { startService } from '#tests/support/service.ts'

const service = await startService()
plant()
const user = await service.createUser()
await service.link(user, 'healthy')
const rows = await service.accounts(user)
after(() => service.close())

/** Rows, amounts and numbers as the providers send them. */
const data = [
  'KANARIEN-DESCRIPTION',
  'KANARIEN-MERCHANT',
  'KANARIEN-TRADE',
  '77123456789.31',
  '88123456789.42',
  '66123456789.53',
  '910348821777',
  '38-9000-0999999-77',
  'U6542138443',
  '082-902',
  '082902',
]
const secrets = () => [
  user.key,
  demoUserTokens.healthy,
  demoPeople.healthy.userSecret,
  toToken('healthy'),
  service.adminToken,
]

function plant(): void {
  const { fiskil, akahu, snaptrade, up } = service.sandbox
  for (const account of up.people.healthy?.accounts ?? []) {
    account.displayName = 'Joint BSB 082-902, 910348821777'
    for (const row of account.rows) {
      Object.assign(row, { rawText: 'KANARIEN-DESCRIPTION', amount: '-88123456789.42' })
    }
  }
  for (const consent of fiskil.people.healthy.consents) {
    for (const account of consent.accounts) {
      account.body.account_number = '910348821777'
      account.body.nickname = 'Joint BSB 082902, 910348821777'
      if (account.balance !== null) account.balance.current_balance = '77123456789.31'
      for (const row of account.rows) {
        Object.assign(row.body, {
          description: 'KANARIEN-DESCRIPTION',
          merchant_name: 'KANARIEN-MERCHANT',
          amount: '-88123456789.42',
        })
      }
    }
  }
  for (const account of akahu.people.healthy.accounts) {
    account.formatted_account = '38-9000-0999999-77'
    account.name = 'Rates 38-9000-0999999-77'
    if (account.balance !== null) account.balance.current = '77123456789.31'
    for (const row of account.rows) {
      row.description = 'KANARIEN-DESCRIPTION'
      row.amount = '-88123456789.42'
    }
  }
  for (const connection of snaptrade.people.healthy.connections) {
    for (const account of connection.accounts) {
      account.number = 'U6542138443'
      account.name = 'Margin u6542138443'
      for (const activity of account.activities) {
        activity.description = 'KANARIEN-TRADE'
        activity.amount = '66123456789.53'
      }
    }
  }
}

function paths(): string[] {
  const connections = [...new Map(rows.map((row) => [row.connectionId, row.provider]))]
  const banks = rows.filter((row) => row.provider !== 'snaptrade')
  return [
    '/v1/connections',
    '/v1/accounts',
    `/v1/balances?accountIds=${banks.map((row) => row.id).join()}`,
    ...connections.flatMap(([id, provider]) =>
      provider === 'snaptrade'
        ? [`/v1/holdings?connectionId=${id}`, `/v1/trades?connectionId=${id}`]
        : [`/v1/transactions?connectionId=${id}`],
    ),
  ]
}

async function assertNowhere(): Promise<void> {
  const files = await readdir(service.dataDir, { recursive: true, withFileTypes: true })
  const places: [string, Buffer][] = [
    ['the log', Buffer.from(service.logLines.join(''))],
    ['the metrics', Buffer.from(await service.metrics.text())],
  ]
  for (const file of files.filter((entry) => entry.isFile())) {
    if (file.name === 'admin-token') continue
    places.push([file.name, await readFile(join(file.parentPath, file.name))])
  }
  assert(places.length > 3, 'the store is on disk')
  const found = places.flatMap(([name, bytes]) =>
    [...data, ...secrets()].filter((text) => bytes.includes(text)).map((text) => [name, text]),
  )
  assert.deepEqual(found, [])
}

test('reading everything leaves no row, amount, number, token or key behind', async () => {
  // One after another: a plan limits how many may be in flight.
  const bodies: string[] = []
  for (const path of paths()) bodies.push((await service.get(path, user)).text)
  for (const canary of ['KANARIEN-DESCRIPTION', 'KANARIEN-TRADE', '77123456789.31']) {
    assert(
      bodies.some((text) => text.includes(canary)),
      `${canary} is shown to its owner`,
    )
  }
  for (const number of data.slice(6)) {
    assert(!bodies.some((text) => text.includes(number)), `${number} is masked`)
  }
  await assertNowhere()
})

test('unreadable answers leave no canary behind either, whatever the parser’s message contains', async () => {
  const bodies = [
    '{"transactions":[{"description":"KANARIEN-DESCRIPTION" oops}]}',
    '{"transactions":[{"description":"KANARIEN-DESCRIPTION"',
    'KANARIEN-DESCRIPTION',
    '[{"amount":88123456789.42,}]',
    '{"success":true,"items":[{"amount":-88123456789.42.1}]}',
    '{"data":[{"description":"KANARIEN-TRADE","amount":66123456789.53,"id":7}]}',
    '"KANARIEN-MERCHANT"',
  ]
  for (const [index, body] of bodies.entries()) {
    service.clock.advance(3_700_000)
    for (const emulator of sandboxProviders.map((name) => service.sandbox[name])) {
      emulator.clearFaults()
      emulator.addFault({
        when: (request) => request.method === 'GET',
        does: { kind: 'reply', reply: { status: 200, body } },
      })
    }
    for (const path of paths().slice(2)) {
      const answer = await service.get(path, user)
      assert([200, 503].includes(answer.status), `${path} ${index}`)
      assert(!answer.text.includes('KANARIEN'), answer.text)
    }
  }
  await assertNowhere()
})

test('neither do refusals of a provider that quotes what it was asked with', async () => {
  for (const status of [400, 403, 500]) {
    service.clock.advance(3_700_000)
    for (const emulator of sandboxProviders.map((name) => service.sandbox[name])) {
      emulator.clearFaults()
      emulator.addFault({
        when: (request) => request.method === 'GET',
        does: { kind: 'reply', reply: { status, body: quoting(emulator) } },
      })
    }
    for (const path of paths().slice(2)) {
      const { text } = await service.get(path, user)
      for (const secret of secrets()) assert(!text.includes(secret), `${status} ${path} ${text}`)
    }
  }
  await assertNowhere()
})

/** A refusal in the provider's own form that repeats the person's secret. */
function quoting(emulator: unknown): Record<string, unknown> {
  const { akahu, snaptrade, up } = service.sandbox
  const { userSecret } = demoPeople.healthy
  if (emulator === akahu) {
    return { success: false, message: `no right for ${demoUserTokens.healthy}` }
  }
  if (emulator === up) {
    return { errors: [{ status: '400', title: 'No', detail: `no right: ${toToken('healthy')}` }] }
  }
  if (emulator === snaptrade) {
    return { code: '1000', detail: `bad userSecret=${userSecret}`, status_code: userSecret }
  }
  return { id: 'err_1', name: 'refused', message: 'no such end user' }
}

test('neither do keys in places where no key belongs', async () => {
  const key = user.key
  const asked = [
    service.get(`/v1/accounts?key=${key}`, user),
    service.get(`/v1/${key}`, user),
    service.get('/v1/accounts', `Basic ${key}`),
    service.get('/v1/accounts', user, { 'x-request-id': key, 'user-agent': key, referer: key }),
    service.get(`/v1/transactions?connectionId=${key}&from=${key}`, user),
    service.get(`/v1/balances?accountIds=${key}`, user),
  ]
  await Promise.all(asked)
  await assertNowhere()
})
