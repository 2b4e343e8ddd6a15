/**
 * The whole service with a personal app of Akahu: what people read through it, what a refusal at Akahu makes
 * of their connections, and that neither token is anywhere in the log, the metrics or on the disk.
 */
import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { request } from 'undici'
import { byOperator } from '#contract/actor.ts'
import { toPersonalTokens } from '#sandbox/akahu/emulator.ts'
import { type Sandbox, startSandbox } from '#sandbox/start.ts'
import {
  makeStillClock,
  type Service,
  type ServiceUser,
  startService,
} from '#tests/support/service.ts'

const own = toPersonalTokens('healthy')
const others = toPersonalTokens('history')

let sandbox: Sandbox
let service: Service
let owner: ServiceUser
let housemate: ServiceUser
before(async () => {
  const clock = makeStillClock()
  sandbox = await startSandbox({ clock })
  const { access } = sandbox
  assert.ok(access.akahu !== null)
  const akahu = { ...access.akahu, appToken: own.appToken, appSecret: null }
  service = await startService({ clock, access: { ...access, akahu } })
  owner = await service.createUser()
  housemate = await service.createUser()
  await link(owner, { userToken: own.userToken })
  await link(housemate, others)
})
after(async () => {
  await service?.close()
  await sandbox?.close()
})

const link = (user: ServiceUser, tokens: { userToken: string; appToken?: string }) =>
  service.app.connections.linkConnections(byOperator, user.id, { provider: 'akahu', ...tokens })

/** Rows of another window each time, so that no cached answer serves it. */
let days = 60
async function readRows(user: ServiceUser) {
  const rows = await service.app.store.connections.list(user.id)
  const connection = rows.find(({ institutionName }) =>
    ['ASB', 'Kiwibank'].includes(institutionName),
  )
  assert.ok(connection !== undefined)
  days += 1
  const from = new Date(service.clock.now() - days * 86_400_000).toISOString().slice(0, 10)
  return service.get(`/v1/transactions?connectionId=${connection.id}&from=${from}`, user)
}
const statusesOf = async (user: ServiceUser) =>
  new Set((await service.app.store.connections.list(user.id)).map(({ status }) => status))

test('200: the owner and a housemate read their own rows, each through the app of their own', async () => {
  for (const [user, app] of [
    [owner, own.appToken],
    [housemate, others.appToken],
  ] as const) {
    sandbox.akahu.requests.length = 0
    const answer = await readRows(user)
    assert.deepEqual([answer.status, answer.body.data.length > 0], [200, true])
    const apps = sandbox.akahu.requests.map(({ headers }) => headers['x-akahu-id'])
    assert.deepEqual(new Set(apps), new Set([app]))
  }
})

test('400: a permission that is switched off is said, and the connections keep their status', async () => {
  const { ownApp } = sandbox.akahu.faultControls
  for (const [breakIt, mend, why] of [
    [ownApp?.withdrawPermission, ownApp?.grantPermission, /lacks the permission/],
    [ownApp?.bar, ownApp?.admit, /not on the allow-list/],
  ] as const) {
    breakIt?.('healthy')
    const refused = await readRows(owner)
    assert.deepEqual([refused.status, refused.body.error.code], [400, 'upstream_bad_request'])
    assert.match(refused.body.error.message, why)
    assert.match(refused.body.error.message, /my\.akahu\.nz, Developers/)
    assert.deepEqual(await statusesOf(owner), new Set(['active']))
    mend?.('healthy')
    assert.equal((await readRows(owner)).status, 200)
  }
})

test('400: a regenerated user token invalidates every connection of its owner, nobody else’s, until the new one is linked', async () => {
  const { personal } = sandbox.akahu.people.healthy
  personal.userToken = 'user_token_regenerated'
  const refused = await readRows(owner)
  assert.deepEqual([refused.status, refused.body.error.code], [400, 'upstream_bad_request'])
  assert.match(refused.body.error.message, /link again with both tokens from my\.akahu\.nz/)
  assert.deepEqual(await statusesOf(owner), new Set(['invalidated']))
  assert.deepEqual(await statusesOf(housemate), new Set(['active']))
  const ids = (await service.app.store.connections.list(owner.id)).map(({ id }) => id)
  const again = await link(owner, { userToken: 'user_token_regenerated' })
  assert.deepEqual(new Set(again.map(({ id }) => id)), new Set(ids))
  assert.deepEqual(await statusesOf(owner), new Set(['active']))
  assert.equal((await readRows(owner)).status, 200)
})

test('404: without a secret there is no receiver of Akahu’s webhooks; the others are there', async () => {
  const statusOf = async (provider: string) => {
    const url = `${service.baseUrl}/providers/${provider}/webhook`
    const { statusCode, body } = await request(url, { method: 'POST', body: '{}' })
    await body.dump()
    return statusCode
  }
  assert.deepEqual([await statusOf('akahu'), await statusOf('snaptrade')], [404, 401])
})

test('only what a personal app can reach was asked for, and neither token is in the log, the metrics or on the disk', async () => {
  const paths = new Set(sandbox.akahu.requests.map(({ path }) => path.split('/')[2]))
  assert.ok([...paths].every((path) => ['me', 'accounts', 'transactions'].includes(path ?? '')))
  assert.ok(
    sandbox.akahu.requests.every(({ headers }) => !headers.authorization?.startsWith('Basic')),
  )
  const places: [string, string][] = [
    ['the log', service.logLines.join('')],
    ['the metrics', await service.metrics.text()],
  ]
  const files = await readdir(service.dataDir, { recursive: true, withFileTypes: true })
  for (const file of files.filter((entry) => entry.isFile())) {
    const bytes = await readFile(join(file.parentPath, file.name))
    places.push([file.name, bytes.toString('latin1')])
  }
  const secrets = [...Object.values(own), ...Object.values(others), 'user_token_regenerated']
  for (const [place, text] of places) {
    for (const secret of secrets) assert.ok(!text.includes(secret), place)
  }
})
