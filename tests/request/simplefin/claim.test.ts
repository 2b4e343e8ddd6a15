/** Setup tokens and access URLs: spent once, refused alike, and never in a log. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '#tests/support/until.ts'
import { bind, openAccess, openWorld } from './world.ts'

test('a claim is 200, plain text, the access URL alone, whatever headers a client sends', async (t) => {
  const world = await openWorld(t, { providers: [] })
  const answer = await world.claim(await world.makeToken(), {
    authorization: 'Basic Og==',
    'content-type': 'application/json',
    'content-length': '0',
  })
  assert.equal(answer.status, 200)
  assert.match(String(answer.headers['content-type']), /^text\/plain/)
  assert.equal(answer.headers['cache-control'], 'no-store')
  const { host } = new URL(world.service.baseUrl)
  assert.match(answer.text, new RegExp(`^http://[A-Za-z0-9]+:[A-Za-z0-9]+@${host}/simplefin$`))
})

test('a token that is spent, unknown, garbled, revoked or has ended is 403 Forbidden, in one and the same answer', async (t) => {
  const world = await openWorld(t, { providers: [] })
  const { service } = world
  const spent = await world.makeToken()
  await world.claim(spent)
  const late = await world.makeToken()
  const unknown = Buffer.from(`${service.baseUrl}/simplefin/claim/${'a'.repeat(48)}`).toString(
    'base64',
  )
  const garbled = Buffer.from(`${service.baseUrl}/simplefin/claim/%00..%2f`).toString('base64')
  service.clock.advance(25 * 3_600_000)
  for (const token of [spent, late, unknown, garbled]) {
    const { status, text, headers } = await world.claim(token)
    assert.deepEqual([status, text], [403, 'Forbidden'])
    assert.match(String(headers['content-type']), /^text\/plain/)
  }
})

test('of twenty claims of one token at once one succeeds, and its owner sees that it was presented again', async (t) => {
  const world = await openWorld(t, { providers: [] })
  const token = await world.makeToken()
  const answers = await Promise.all(Array.from({ length: 20 }, () => world.claim(token)))
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [
    200,
    ...Array.from({ length: 19 }, () => 403),
  ])
  const [program] = await world.service.app.store.programs.list(world.user.id)
  assert.notEqual(program?.repeatedAt, null)
})

test('a spent token that is presented any number of times makes one entry in the audit, and beyond the limit of guesses the store is not asked', async (t) => {
  const world = await openWorld(t, { providers: [], env: { RATE_LIMIT_PREAUTH: '5' } })
  const { store } = world.service.app
  const entries = async () =>
    (await store.auditLog.list({ userId: world.user.id, after: null, limit: 100 })).filter(
      ({ action }) => action === 'programs.repeat',
    )
  const token = await world.makeToken()
  await world.claim(token)
  const statuses: number[] = []
  for (let count = 0; count < 8; count += 1) statuses.push((await world.claim(token)).status)
  assert.deepEqual(statuses, [403, 403, 403, 403, 403, 429, 429, 429])
  assert.equal((await entries()).length, 1)
  const fresh = await world.makeToken()
  const wrong = fresh.slice(0, -4)
  for (let count = 0; count < 6; count += 1) await world.claim(wrong)
  assert.equal((await world.claim(fresh)).status, 429, 'nothing is looked for beyond the limit')
})

test('credentials that are wrong, missing or revoked are 403, never 401, and open nothing but SimpleFIN', async (t) => {
  const world = await openWorld(t, { providers: [] })
  const access = await openAccess(world)
  assert.equal((await world.read(access, '/accounts')).status, 200)
  const { username, password } = new URL(access)
  for (const wrong of [
    `${username}x:${password}`,
    `${username}:${password}x`,
    ':',
    `${password}:${username}`,
  ]) {
    const url = access.replace(`${username}:${password}@`, `${wrong}@`)
    const answer = await world.read(url, '/accounts')
    assert.deepEqual([answer.status, answer.text], [403, 'Forbidden'])
  }
  assert.equal((await world.service.get('/v1/accounts', `Bearer ${password}`)).status, 401)
  assert.equal(
    (
      await world.read(
        access.replace(`${username}:${password}`, `a:${world.user.key}`),
        '/accounts',
      )
    ).status,
    403,
  )
  const { store } = world.service.app
  const [program] = await store.programs.list(world.user.id)
  assert(program !== undefined)
  await store.programs.revoke(program.id, world.service.clock.now())
  assert.equal((await world.read(access, '/accounts')).status, 403)
})

test('neither the secret of a token nor credentials come into the log', async (t) => {
  const world = await openWorld(t, { providers: ['fiskil'] })
  const token = await world.makeToken()
  const { text: access } = await world.claim(token)
  await world.claim(token)
  await world.accounts(access)
  await world.read(access, '/nothing')
  const { username, password } = new URL(access)
  const secret = Buffer.from(token, 'base64').toString().split('/').at(-1) ?? ''
  const log = world.service.logLines.join('\n')
  assert(log.includes('simplefin'))
  for (const text of [
    secret,
    username,
    password,
    Buffer.from(`${username}:${password}`).toString('base64'),
  ]) {
    assert(text.length > 8 && !log.includes(text))
  }
})

test('a plan without API access is 402, and too many guesses are 429 with Retry-After, in plain text', async (t) => {
  const world = await openWorld(t, {
    providers: [],
    plan: { plan: 'none' },
    env: { RATE_LIMIT_PREAUTH: '5' },
  })
  const access = await openAccess(world)
  const answer = await world.read(access, '/accounts')
  assert.equal(answer.status, 402)
  assert.match(answer.text, /plan/)
  const wrong = access.replace(/\/\/[^@]+@/, '//guess:guess@')
  const statuses: number[] = []
  for (let guess = 0; guess < 8; guess += 1) {
    const { status, headers, text } = await world.read(wrong, '/accounts')
    statuses.push(status)
    if (status === 429) assert(Number(headers['retry-after']) > 0 && !text.includes('{'))
  }
  assert.deepEqual(statuses, [403, 403, 403, 403, 403, 429, 429, 429])
  assert.equal((await world.read(access, '/accounts')).status, 402, 'guesses shut nobody else out')
})

test('a program that asks without a pause is slowed down, not refused; a third request at once is 429, and API keys are apart', async (t) => {
  const world = await openWorld(t, { providers: [] })
  const access = await openAccess(world)
  const statuses: number[] = []
  for (let count = 0; count < 10; count += 1)
    statuses.push((await world.read(access, '/accounts')).status)
  const answered: number[] = []
  const over = Array.from({ length: 3 }, async () => {
    const answer = await world.read(access, '/accounts')
    answered.push(answer.status)
    return answer
  })
  const first = await Promise.race(over)
  assert.deepEqual([first.status, answered], [429, [429]])
  assert(Number(first.headers['retry-after']) > 0)
  assert.equal((await world.service.get('/v1/connections', world.user)).status, 200)
  world.service.clock.advance(1000)
  statuses.push(...(await Promise.all(over)).map(({ status }) => status))
  assert.deepEqual(
    statuses.toSorted(),
    [...Array.from({ length: 12 }, () => 200), 429],
    'a first import of hundreds of windows comes to its end',
  )
})

test('all programs of a person have four requests at once together, and those of others are apart', async (t) => {
  const world = await openWorld(t, { providers: [] })
  const programs = [await openAccess(world), await openAccess(world), await openAccess(world)]
  const stranger = bind(world.service, await world.service.createUser())
  const other = await openAccess(stranger)
  for (const access of [...programs, other]) {
    // As many as a program may ask in a second: the next ones wait.
    for (let count = 0; count < 10; count += 1) await world.read(access, '/accounts')
  }
  const asked = programs.flatMap((access) => [access, access])
  const refused: number[] = []
  const answers = [...asked, other].map(async (access) => {
    const { status } = await world.read(access, '/accounts')
    if (status !== 200) refused.push(status)
    return status
  })
  await until('both are refused', () => refused.length >= 2, 5)
  world.service.clock.advance(1000)
  await Promise.all(answers)
  assert.deepEqual(refused, [429, 429])
  assert.equal(await answers.at(-1), 200)
})

test('a program sees the connections that were chosen for it, and another person’s do not exist', async (t) => {
  const world = await openWorld(t)
  const { service } = world
  const { body } = await service.get('/v1/connections', world.user)
  const chosen = body.data.find((one: { provider: string }) => one.provider === 'fiskil').id
  const access = await openAccess(world, { connections: [chosen] })
  const seen = await world.accounts(access)
  assert.deepEqual(
    seen.connections.map((one: { conn_id: string }) => one.conn_id),
    [chosen],
  )
  assert(seen.accounts.length > 0)
  assert(seen.accounts.every((one: { conn_id: string }) => one.conn_id === chosen))
  const stranger = bind(service, await service.createUser())
  const theirAccess = await openAccess(stranger)
  const ask = (id: string) => stranger.accounts(theirAccess, `?account=${id}`)
  const others = await ask(seen.accounts[0].id)
  assert.deepEqual([others.accounts, others.connections], [[], []])
  const nobody = '00000000-0000-4000-8000-000000000000'
  const text = JSON.stringify(others).replaceAll(seen.accounts[0].id, nobody)
  assert.deepEqual(JSON.parse(text), await ask(nobody), 'as an id that is nobody’s')
  await assert.rejects(stranger.makeToken({ connections: [chosen] }), /Invalid/)
})

test('HEAD is answered as GET is, without its body', async (t) => {
  const world = await openWorld(t, { providers: ['fiskil'] })
  const access = await openAccess(world)
  for (const path of ['/info', '/accounts']) {
    const whole = await world.read(access, path)
    const head = await world.read(access, path, 'HEAD')
    assert.deepEqual([head.status, head.text], [200, ''])
    for (const name of ['content-type', 'content-length', 'cache-control'])
      assert.equal(head.headers[name], whole.headers[name], name)
  }
  assert.equal((await world.read(access.replace('://', '://x'), '/accounts', 'HEAD')).status, 403)
})

test('info needs no credentials; other paths and methods are 404 in plain text, and nothing redirects', async (t) => {
  const world = await openWorld(t, { providers: [] })
  const access = await openAccess(world)
  const info = await world.read(access, '/info')
  assert.deepEqual([info.status, JSON.parse(info.text)], [200, { versions: ['1', '2'] }])
  assert.equal((await world.read(access, '/accounts/')).status, 404)
  const { origin } = new URL(world.service.baseUrl)
  const posted = await fetch(`${origin}/simplefin/accounts`, { method: 'POST', redirect: 'manual' })
  assert.equal(posted.status, 404)
})
