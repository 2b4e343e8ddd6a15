/**
 * Events never rest in the clear: what PostgreSQL and Redis would dump, and the logs of two processes, are
 * searched.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { startReceiver } from '#tests/request/webhooks/stage.ts'
import {
  findCanaries,
  formsOfSecret,
  plantCanaries,
  plantedData,
  toldData,
} from '#tests/support/canaries.ts'
import { startFleet, until } from './fleet.ts'
import { makePostgresGround } from './postgres-place.ts'
import type { RedisServer } from './redis-server.ts'

const run = promisify(execFile)
const maxDumpBytes = 256 * 1024 * 1024

/** Everything in it, uncompressed, as it would lie on a disk. */
async function dumpRedis(redis: RedisServer): Promise<Buffer> {
  await redis.call('CONFIG', 'SET', 'rdbcompression', 'no')
  await redis.call('SAVE')
  const [, folder] = (await redis.call('CONFIG', 'GET', 'dir')) as string[]
  return readFile(join(String(folder), 'dump.rdb'))
}

/** In the URL of an endpoint. */
const tokens = { path: 'canary-8d1e07f2-of-a-path', query: 'canary-41c09be6-of-a-query' }

test('the content of events, their signing secrets and the URLs of endpoints are in no dump of PostgreSQL or Redis and in no log', async (t) => {
  const ground = await makePostgresGround()
  t.after(() => ground.remove())
  const place = await ground.makePlace()
  const fleet = await startFleet({
    databaseUrl: place.databaseUrl,
    env: { ROLE: 'all', LOG_LEVEL: 'debug', WEBHOOK_ALLOW_PRIVATE: 'true' },
  })
  t.after(() => fleet.close())
  plantCanaries(fleet.sandbox)
  const receiver = await startReceiver(t, (response, { body }) => response.end(body))
  const user = await fleet.createUser()
  const { body: made } = await fleet.one.admin('POST', `/users/${user.id}/webhooks`, {
    url: `${receiver.url}/${tokens.path}?key=${tokens.query}`,
  })
  for (const credentials of fleet.sandbox.person('healthy'))
    await fleet.one.admin('POST', `/users/${user.id}/connections`, credentials)
  const told = () => receiver.received.map(({ body }) => body).join('')
  await until('all of it was told', () => toldData.every((text) => told().includes(text)), 60_000)
  const { body: connections } = await fleet.two.get('/v1/connections', user.key)
  for (const { id, category } of connections.data) {
    const noun = category === 'banking' ? 'transactions' : 'trades'
    const { status } = await fleet.two.get(`/v1/${noun}?connectionId=${id}`, user.key)
    assert.equal(status, 200)
  }
  const { body: rotated } = await fleet.one.admin('POST', `/webhooks/${made.id}/rotate`)
  const dump = async (...options: string[]) => {
    const url = new URL(place.databaseUrl)
    url.search = ''
    const { stdout } = await run('pg_dump', [...options, url.href], {
      encoding: 'buffer',
      maxBuffer: maxDumpBytes,
    })
    return stdout
  }
  const places = [
    { name: 'the whole dump', bytes: await dump() },
    { name: 'the documented dump', bytes: await dump('--exclude-schema=*_event_keys') },
    { name: 'every row', bytes: await place.readAll() },
    { name: 'Redis', bytes: await dumpRedis(fleet.redis) },
    { name: 'the log of one', bytes: Buffer.from(fleet.one.output.join('\n')) },
    { name: 'the log of the other', bytes: Buffer.from(fleet.two.output.join('\n')) },
  ]
  // What is searched is what there is: ids are no secret.
  for (const { name, bytes } of places.slice(0, 3))
    assert.ok(Buffer.from(bytes).includes(made.id), name)
  assert.ok((places[3]?.bytes.length ?? 0) > 1000, 'Redis holds answers')
  const secrets = [made.secret, rotated.secret].flatMap(formsOfSecret)
  secrets.push(...Object.values(tokens))
  assert.deepEqual(findCanaries(places, [...plantedData, ...secrets]), [])
})
