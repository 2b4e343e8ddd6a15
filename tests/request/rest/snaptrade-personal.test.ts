/** Brokerage data by a personal key of SnapTrade, through the whole service. */
import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { byOperator } from '#contract/actor.ts'
import { demoPersonalKey } from '#sandbox/snaptrade/index.ts'
import { type Sandbox, startSandbox } from '#sandbox/start.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'
import { findCanaries } from '#tests/support/canaries.ts'
import {
  makeStillClock,
  type Service,
  type ServiceUser,
  startService,
} from '#tests/support/service.ts'

const clock = makeStillClock()

interface Side {
  readonly service: Service
  readonly sandbox: Sandbox
  readonly user: ServiceUser
  readonly connections: readonly ConnectionRow[]
}

const personal = { ...demoPersonalKey, keyKind: 'personal' } as const

/** Over a sandbox of its own, whose settings the test chooses. */
async function startSide(
  t: TestContext,
  settings: object = personal,
  fields: object = {},
): Promise<Side> {
  const sandbox = await startSandbox({ clock })
  t.after(() => sandbox.close())
  const dataDir = await mkdtemp(join(tmpdir(), 'tributary-personal-'))
  const service = await startOver(sandbox, settings, dataDir)
  t.after(async () => {
    await service.close()
    await rm(dataDir, { recursive: true, force: true })
  })
  const user = await service.createUser()
  const credentials = { provider: 'snaptrade', ...fields }
  const connections = await service.app.connections.linkConnections(
    byOperator,
    user.id,
    credentials,
  )
  return { service, sandbox, user, connections }
}

function startOver({ access }: Sandbox, settings: object, dataDir?: string): Promise<Service> {
  const { snaptrade } = access
  assert.ok(snaptrade !== null)
  return startService({
    clock,
    access: { ...access, snaptrade: { ...snaptrade, ...settings } },
    ...(dataDir === undefined ? {} : { dataDir }),
  })
}

const at = ({ connections }: Side, institution: string) => {
  const found = connections.find(({ institutionName }) => institutionName === institution)
  assert.ok(found !== undefined)
  return found
}

test('200: holdings and every one of 5,400 trades are served by the key of the variables', async (t) => {
  const side = await startSide(t)
  const { service, user } = side
  const { id } = at(side, 'Stake')
  const holdings = await service.get(`/v1/holdings?connectionId=${id}`, user)
  assert.deepEqual([holdings.status, holdings.body.data.length], [200, 2])
  const trades = await service.get(`/v1/trades?connectionId=${id}&limit=500`, user)
  assert.deepEqual([trades.status, trades.body.data.length], [200, 500])
  const { requests } = side.sandbox.snaptrade
  assert.ok(requests.every(({ query }) => !query.has('userId') && !query.has('userSecret')))
  const deep = await service.get(`/v1/trades?connectionId=${id}&limit=500&offset=5200`, user)
  assert.deepEqual([deep.status, deep.body.data.length], [200, 200])
})

test('503: an account that was asked nine times in a minute waits, with the time in Retry-After; others are served', async (t) => {
  const side = await startSide(t)
  const { service, user } = side
  const { id } = at(side, 'Interactive Brokers')
  const accounts = (await service.accounts(user)).filter(({ connectionId }) => connectionId === id)
  const [first, second] = accounts
  // Each from and to is a query of its own, which no cached answer serves.
  const ask = (accountId: string | undefined, day: number) =>
    service.get(
      `/v1/trades?connectionId=${id}&accountId=${accountId}&from=2026-10-${String(day).padStart(2, '0')}`,
      user,
    )
  const statuses: number[] = []
  for (let day = 1; day <= 10; day += 1) statuses.push((await ask(first?.id, day)).status)
  const refused = await ask(first?.id, 20)
  assert.deepEqual(statuses, [...Array(9).fill(200), 503])
  assert.equal(refused.status, 503)
  const wait = Number(refused.headers['retry-after'])
  assert.ok(wait > 3 && wait <= 60, `${wait}`)
  assert.equal((await ask(second?.id, 1)).status, 200)
  clock.advance(61_000)
  assert.equal((await ask(first?.id, 21)).status, 200)
})

test('503: after the mode was switched the log says what to do, no consent counts as lost, and all works again when it is restored', async (t) => {
  const side = await startSide(t)
  const { service, sandbox, user } = side
  const { id } = at(side, 'Stake')
  await service.close()
  const switched = await startOver(sandbox, {}, service.dataDir)
  sandbox.snaptrade.requests.splice(0)
  const path = `/v1/holdings?connectionId=${id}`
  const answer = await switched.get(path, user)
  assert.equal(answer.status, 503)
  assert.doesNotMatch(answer.text, /SNAPTRADE_/)
  const why = 'SNAPTRADE_KEY is commercial now: set SNAPTRADE_KEY=personal'
  assert.ok(switched.logLines.some((line) => line.includes(why)))
  assert.deepEqual(sandbox.snaptrade.requests, [])
  const statusOf = async (of: Service) => {
    const { body } = await of.get('/v1/connections', user)
    return body.data.map(({ status }: { status: string }) => status)
  }
  assert.deepEqual(await statusOf(switched), Array(3).fill('active'))
  await switched.close()
  const restored = await startOver(sandbox, personal, service.dataDir)
  t.after(() => restored.close())
  clock.advance(120_000)
  assert.equal((await restored.get(path, user)).status, 200)
  assert.deepEqual(await statusOf(restored), Array(3).fill('active'))
})

test('503: a refused key of the variables is said to the operator, not to callers', async (t) => {
  const side = await startSide(t)
  const { service, sandbox, user } = side
  sandbox.snaptrade.people.personal.personalKey = { ...demoPersonalKey, consumerKey: 'another' }
  const answer = await service.get(`/v1/holdings?connectionId=${at(side, 'Stake').id}`, user)
  assert.equal(answer.status, 503)
  assert.doesNotMatch(answer.text, /SNAPTRADE|key/)
  assert.ok(service.logLines.some((line) => line.includes('Unable to verify signature sent')))
})

test('404: webhooks are received with a commercial key alone', async (t) => {
  const side = await startSide(t)
  const path = '/providers/snaptrade/webhook'
  const post = (service: Service) => fetch(service.baseUrl + path, { method: 'POST', body: '{}' })
  assert.equal((await post(side.service)).status, 404)
  const none = await startOver(side.sandbox, { clientId: null, consumerKey: null })
  t.after(() => none.close())
  assert.equal((await post(none)).status, 404)
  const commercial = await startOver(side.sandbox, {})
  t.after(() => commercial.close())
  assert.equal((await post(commercial)).status, 401)
})

for (const [whose, settings, fields] of [
  ['the variables', personal, {}],
  ['a login', { clientId: null, consumerKey: null }, demoPersonalKey],
] as const) {
  test(`the consumer key of ${whose} is in no answer, log line, metric or file, also when the provider repeats it`, async (t) => {
    const side = await startSide(t, settings, fields)
    const { service, sandbox, user } = side
    const path = `/v1/trades?connectionId=${at(side, 'Stake').id}`
    const answers = [await service.get(path, user)]
    const { consumerKey } = demoPersonalKey
    for (const status of [400, 401, 402, 403, 404, 429, 500]) {
      const body = { detail: `bad consumerKey=${consumerKey} or ${consumerKey}` }
      sandbox.snaptrade.addFault({ times: 2, does: { kind: 'reply', reply: { status, body } } })
      answers.push(await service.get(`${path}&from=2026-09-0${status % 9}`, user))
      sandbox.snaptrade.clearFaults()
    }
    const files = await readdir(service.dataDir, { recursive: true, withFileTypes: true })
    const places = [
      { name: 'answers', bytes: Buffer.from(JSON.stringify(answers)) },
      { name: 'log', bytes: Buffer.from(service.logLines.join('\n')) },
      { name: 'metrics', bytes: Buffer.from(await service.metrics.text()) },
    ]
    for (const file of files.filter((entry) => entry.isFile())) {
      const name = join(file.parentPath, file.name)
      places.push({ name, bytes: await readFile(name) })
    }
    assert.deepEqual(findCanaries(places, [consumerKey]), [])
  })
}
