/**
 * Events are never stored in plain text: values are planted in everything that providers send, receivers
 * repeat what they get, and then every byte of the data directory, every log line and everything that
 * operators can list is searched.
 */
import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { request } from 'undici'
import {
  findCanaries,
  formsOfSecret,
  type PlaceToSearch,
  plantCanaries,
  plantedData,
  toldData,
} from '#tests/support/canaries.ts'
import { type Service, startService } from '#tests/support/service.ts'
import { until } from '#tests/support/until.ts'
import { type Answer, startReceiver } from './stage.ts'

/** Answers with what it got, signature included. */
const repeat =
  (status: number): Answer =>
  (response, { headers, body }) =>
    response.writeHead(status).end(`${headers['webhook-signature']} ${body}`)

function makeAsk(service: Service) {
  return async (method: 'GET' | 'POST', path: string, body?: object) => {
    const response = await request(service.adminUrl + path, {
      method,
      headers: {
        authorization: `Bearer ${service.adminToken}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      body: body === undefined ? null : JSON.stringify(body),
    })
    const text = await response.body.text()
    assert.ok(response.statusCode < 300, `${path}: ${text}`)
    return text
  }
}

async function readFiles(folder: string): Promise<readonly PlaceToSearch[]> {
  const files = await readdir(folder, { recursive: true, withFileTypes: true })
  return Promise.all(
    files
      .filter((file) => file.isFile())
      .map(async ({ name, parentPath }) => ({
        name,
        bytes: await readFile(join(parentPath, name)),
      })),
  )
}

test('the search finds a value in plain text, as hex, and as base64 wherever it begins', () => {
  for (const text of plantedData) {
    const bytes = ['', 'a', 'ab'].map((before) => Buffer.from(`${before}${text}, `))
    const forms = [...bytes, Buffer.from(text).toString('hex')]
    forms.push(...bytes.map((one) => one.toString('base64')))
    for (const form of forms) {
      assert.deepEqual(findCanaries([{ name: 'a file', bytes: Buffer.from(form) }], [text]), [
        `${text} in a file`,
      ])
    }
  }
})

/** In the URLs of endpoints. */
const tokens = { path: 'canary-8d1e07f2-of-a-path', query: 'canary-41c09be6-of-a-query' }

test('the content of events, their signing secrets and the URLs of endpoints are stored nowhere in plain text, even if receivers repeat them', async (t) => {
  const service = await startService({ env: { ROLE: 'all' } })
  t.after(() => service.close())
  plantCanaries(service.sandbox)
  const user = await service.createUser()
  const ask = makeAsk(service)
  const glad = await startReceiver(t, repeat(200))
  const sick = await startReceiver(t, repeat(500))
  const made = await Promise.all(
    [glad, sick].map(async ({ url }) => {
      const endpoint = { url: `${url}/${tokens.path}?key=${tokens.query}` }
      const body = await ask('POST', `/admin/users/${user.id}/webhooks`, endpoint)
      return JSON.parse(body) as { id: string; secret: string }
    }),
  )
  await service.link(user, 'healthy')
  const told = () => glad.received.map(({ body }) => body).join('')
  await until('all of it was told', () => toldData.every((text) => told().includes(text)))
  const listDeliveries = async () =>
    (await Promise.all(made.map(({ id }) => ask('GET', `/admin/webhooks/${id}/deliveries`)))).join(
      '',
    )
  await until('both answers are kept', async () => {
    const lists = await listDeliveries()
    return lists.includes('"status":500') && lists.includes('"status":200')
  })
  const rotated = await Promise.all(
    made.map(
      async ({ id }) =>
        JSON.parse(await ask('POST', `/admin/webhooks/${id}/rotate`)) as { secret: string },
    ),
  )
  const secrets = [...made, ...rotated].flatMap(({ secret }) => formsOfSecret(secret))
  const signatures = [...glad.received, ...sick.received].map(({ headers }) =>
    String(headers['webhook-signature']).slice('v1,'.length),
  )
  const lists = [
    '/admin/users',
    `/admin/users/${user.id}/connections`,
    `/admin/users/${user.id}/webhooks`,
    `/admin/users/${user.id}/keys`,
    '/admin/audit',
    '/admin/doctor',
    '/metrics',
  ]
  const places = [
    ...(await readFiles(service.dataDir)),
    { name: 'the log', bytes: Buffer.from(service.logLines.join('')) },
    ...(await Promise.all(
      lists.map(async (path) => ({ name: path, bytes: Buffer.from(await ask('GET', path)) })),
    )),
  ]
  const names = places.map(({ name }) => name)
  for (const file of ['tributary.db', 'tributary.db-wal', 'event-keys.db'])
    assert.ok(names.includes(file), names.join())
  assert.deepEqual(findCanaries(places, [...plantedData, ...secrets, ...signatures]), [])
  // Operators see where events are sent, nobody else does.
  const hidden = places.filter(({ name }) => name !== `/admin/users/${user.id}/webhooks`)
  assert.equal(hidden.length, places.length - 1)
  assert.deepEqual(findCanaries(hidden, Object.values(tokens)), [])
  // The search finds what is there, and operators see the answer of a receiver, without what signs.
  const deliveries = { name: 'deliveries', bytes: Buffer.from(await listDeliveries()) }
  assert.ok(findCanaries([deliveries], plantedData).length > 0)
  assert.deepEqual(findCanaries([deliveries], [...secrets, ...signatures]), [])
})
