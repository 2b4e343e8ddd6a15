/**
 * Which request a setup prints: of an account for which the provider has rows, as far as a few seconds tell.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '#kernel/time.ts'
import { startSandbox } from '#sandbox/start.ts'
import { makeSetupFolder } from '#tests/support/setup-folder.ts'
import { chooseRequest } from './first-request.ts'

const connection = (id: string, category: 'banking' | 'brokerage', status = 'active') => ({
  ...{ id, category, status },
  provider: 'any',
  institutionName: 'Any',
})
const account = (id: string, connectionId: string, type = 'transaction') => ({
  ...{ id, connectionId, type },
})

const connections = [connection('broker', 'brokerage'), connection('bank', 'banking')]
const accounts = [
  account('shares', 'broker', 'brokerage'),
  account('saved', 'bank', 'savings'),
  account('daily', 'bank'),
]
const daily = '/v1/transactions?connectionId=bank&accountId=daily&limit=3'
const saved = '/v1/transactions?connectionId=bank&accountId=saved&limit=3'
const shares = '/v1/holdings?connectionId=broker&accountId=shares'
const rows = { data: [{}] }
const none = { data: [] }

test('the first account with rows is taken: everyday accounts, other accounts of banks, brokers', async () => {
  const cases: readonly (readonly [readonly string[], string])[] = [
    [[daily, saved, shares], daily],
    [[saved, shares], saved],
    [[shares], shares],
  ]
  for (const [full, expected] of cases) {
    const read = async (path: string) => (full.includes(path) ? rows : none)
    assert.equal(await chooseRequest({ connections, accounts }, read), expected)
  }
})

test('an account that cannot be read counts as one without rows; with none at all it is the everyday one', async () => {
  const failing = async (path: string) => {
    if (path === saved) return rows
    throw new Error('not now')
  }
  assert.equal(await chooseRequest({ connections, accounts }, failing), saved)
  assert.equal(await chooseRequest({ connections, accounts }, async () => none), daily)
  const gone = connections.map((one) => ({ ...one, status: 'revoked' }))
  assert.equal(
    await chooseRequest({ connections: gone, accounts }, async () => rows),
    '/v1/connections',
  )
})

test('three accounts are asked for and no more', async () => {
  const asked: string[] = []
  const many = Array.from({ length: 9 }, (_, index) => account(`a${index}`, 'bank'))
  const read = async (path: string) => {
    asked.push(path)
    return none
  }
  const chosen = await chooseRequest({ connections, accounts: many }, read)
  assert.deepEqual([asked.length, chosen], [3, asked[0]])
})

test('while no service runs the provider itself is asked: an institution without rows is passed over', async (t) => {
  const sandbox = await startSandbox({ clock: systemClock })
  t.after(() => sandbox.close())
  const { setUp } = makeSetupFolder(t, sandbox)
  const env = {
    AKAHU_APP_TOKEN: 'app_token_pahealthy00000000000000000',
    AKAHU_USER_TOKEN: 'user_token_pahealthy00000000000000000',
  }
  const { out, err } = await setUp(['--email', 'emma@b.example'], { env })
  const [, id] = /\/v1\/transactions\?connectionId=([\da-f-]{36})/.exec(out) ?? []
  const listed = await setUp(['--email', 'emma@b.example', '--json'])
  const document = JSON.parse(listed.out) as {
    readonly connections: readonly { readonly id: string; readonly institutionName: string }[]
  }
  // Those that are stored in one millisecond are listed in the order of their ids.
  const names = document.connections.map(({ institutionName }) => institutionName)
  assert.ok(names.includes('Airpoints'), err)
  const chosen = document.connections.find((one) => one.id === id)
  assert.notEqual(chosen?.institutionName ?? 'Airpoints', 'Airpoints', out)
})

test('a provider that does not answer holds the setup up for seconds: the calls are ended', async (t) => {
  const sandbox = await startSandbox({ clock: systemClock })
  t.after(() => sandbox.close())
  const { setUp } = makeSetupFolder(t, sandbox)
  sandbox.up.addFault({ when: ({ path }) => /transactions/.test(path), does: { kind: 'hang' } })
  const env = { UP_TOKEN: 'up:yeah:sandbox-healthy00000000000000000', UPSTREAM_TIMEOUT_MS: '60000' }
  const begin = performance.now()
  const { code, out, err } = await setUp(['--email', 'emma@b.example'], { env })
  assert.equal(code, 0, err)
  assert.match(out, /\/v1\/transactions\?connectionId=[\da-f-]{36}&accountId=[\da-f-]{36}&limit=3'/)
  assert.equal(sandbox.up.aborted.length, 3)
  assert.ok(performance.now() - begin < 30_000)
})
