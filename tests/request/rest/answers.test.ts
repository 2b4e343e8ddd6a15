/** What every answer has in common: names of requests, bare envelopes, no trace of what belongs to others. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import fc from 'fast-check'
import type { AccountRow } from '#store/ports/accounts.ts'
import { type Answer, startService } from '#tests/support/service.ts'

const service = await startService()
const owner = await service.createUser()
const stranger = await service.createUser()
await service.link(owner, 'healthy')
await service.link(stranger, 'history', 'fiskil')
await service.link(stranger, 'history', 'snaptrade')
const owned = await service.accounts(owner)
const theirs = await service.accounts(stranger)
after(() => service.close())

const unknownId = '7f0c9a52-3f0e-4a57-9a3f-0d5b7a3a2a10'

/** Everything of an answer that a caller sees, but for its name and the count of the window. */
function faceOf(answer: Answer): string {
  const names = ['x-request-id', 'x-ratelimit-remaining', 'date']
  const headers = Object.entries(answer.headers).filter(([name]) => !names.includes(name))
  return JSON.stringify([answer.status, headers, answer.text])
}

test('each answer has a name: the caller’s own if it is sane, else a new one', async () => {
  const ask = async (id: string) => {
    const answer = await service.get('/v1/categories', owner, { 'x-request-id': id })
    return String(answer.headers['x-request-id'])
  }
  for (const id of ['a', 'job-7/step=3', 'x'.repeat(128)]) assert.equal(await ask(id), id)
  for (const id of ['', 'x'.repeat(129), 'two words', '<script>', 'a,b', '{"a":1}']) {
    assert.match(await ask(id), /^[0-9a-f-]{36}$/, id)
  }
  const first = await service.get('/v1/nothing')
  const second = await service.get('/v1/nothing')
  assert.notEqual(first.headers['x-request-id'], second.headers['x-request-id'])
})

test('an error has message, and code and details only where they say something', async () => {
  const id = owned[0]?.connectionId
  const paths = [
    '/v1/nothing',
    '/v1/accounts?limit=0&offset=-1',
    '/v1/balances',
    '/v1/balances?accountIds=x',
    `/v1/balances?accountIds=${unknownId}`,
    '/v1/transactions',
    `/v1/transactions?connectionId=${unknownId}`,
    `/v1/transactions?connectionId=${id}&from=1&to=2`,
    `/v1/transactions?connectionId=${id}&from=2020-01-02&to=2020-01-01`,
    `/v1/holdings?connectionId=${id}`,
    `/v1/trades?connectionId=${id}&accountIds=,`,
  ]
  const planless = await service.createUser({ plan: 'none' })
  const answers = await Promise.all([
    ...paths.map((path) => service.get(path, owner)),
    service.get('/v1/accounts', planless),
    service.get('/v1/accounts', 'Bearer x'),
    service.get('/v1/accounts'),
  ])
  for (const { status, body, text } of answers) {
    assert(status >= 400, text)
    assert.deepEqual(Object.keys(body), ['error'])
    const { message, code, details, ...rest } = body.error
    assert.deepEqual(rest, {})
    assert(typeof message === 'string' && message.length > 0)
    assert(!('code' in body.error) || (typeof code === 'string' && code.length > 0), text)
    assert(!('details' in body.error) || (Array.isArray(details) && details.length > 0), text)
  }
})

test('what belongs to others does not exist: the same answer, byte for byte', async () => {
  const connection = owned[0]?.connectionId
  const foreign = theirs.find((row) => row.provider === 'fiskil')
  const foreignBroker = theirs.find((row) => row.provider === 'snaptrade')
  const broker = owned.find((row) => row.provider === 'snaptrade')
  const sibling = owned.find(
    (row) => row.provider === owned[0]?.provider && row.connectionId !== connection,
  )
  assert(foreign !== undefined && foreignBroker !== undefined)
  assert(broker !== undefined && sibling !== undefined)
  const templates = [
    ['/v1/transactions?connectionId=ID', foreign.connectionId],
    ['/v1/transactions?connectionId=ID', foreignBroker.connectionId],
    [`/v1/transactions?connectionId=${connection}&accountId=ID`, foreign.id],
    [`/v1/transactions?connectionId=${connection}&accountId=ID`, sibling.id],
    ['/v1/balances?accountIds=ID', foreign.id],
    ['/v1/balances?accountIds=ID', foreignBroker.id],
    [`/v1/balances?accountIds=${owned[0]?.id},ID`, foreign.id],
    ['/v1/holdings?connectionId=ID', foreignBroker.connectionId],
    ['/v1/holdings?connectionId=ID', foreign.connectionId],
    [`/v1/holdings?connectionId=${broker.connectionId}&accountIds=ID`, foreignBroker.id],
    ['/v1/trades?connectionId=ID', foreignBroker.connectionId],
    [`/v1/trades?connectionId=${broker.connectionId}&accountId=ID`, foreignBroker.id],
  ] as const
  const asked = service.sandbox.fiskil.requests.length
  for (const [template, id] of templates) {
    const real = await service.get(template.replace('ID', id), owner)
    const none = await service.get(template.replace('ID', unknownId), owner)
    assert.equal(real.status, 404, template)
    assert.equal(faceOf(real), faceOf(none), template)
  }
  assert.equal(service.sandbox.fiskil.requests.length, asked, 'no provider was asked')
})

test('no mixture of ids and parameters shows a row, an id or a name of another user', async () => {
  const ids = (rows: readonly AccountRow[]) => [
    ...new Set(rows.flatMap((row) => [row.id, row.connectionId])),
  ]
  const anyId = fc.constantFrom(...ids(owned), ...ids(theirs), unknownId, 'x', '')
  const parameter = fc.oneof(
    fc.tuple(fc.constantFrom('connectionId', 'accountId'), anyId),
    fc.tuple(
      fc.constant('accountIds'),
      fc.array(anyId, { maxLength: 3 }).map((list) => list.join()),
    ),
    fc.tuple(fc.constantFrom('limit', 'offset'), fc.constantFrom('1', '3', '0', '-1')),
    fc.tuple(fc.constantFrom('userId', 'from'), fc.constantFrom(stranger.id, '2026-11-01')),
  )
  const paths = ['connections', 'accounts', 'balances', 'transactions', 'holdings', 'trades']
  const secrets = [...theirs.flatMap((row) => [row.id, row.upstreamId]), stranger.id]
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...paths),
      fc.array(parameter, { maxLength: 4 }),
      async (path, parameters) => {
        const query = parameters.map(([name, value]) => `${name}=${value}`).join('&')
        const { text } = await service.get(`/v1/${path}?${query}`, owner)
        for (const secret of secrets) assert(!text.includes(secret), `${path}?${query}`)
      },
    ),
    { numRuns: 250 },
  )
})

test('two users of one bank login each see their own ids for the same rows', async () => {
  const partner = await service.createUser()
  await service.link(partner, 'healthy', 'fiskil')
  const rows = await service.accounts(partner)
  const shared = new Set(owned.map((row) => row.id))
  assert(rows.length > 0 && rows.every((row) => !shared.has(row.id)))
  const [first] = rows
  const answer = await service.get(`/v1/balances?accountIds=${first?.id}`, owner)
  assert.equal(answer.status, 404)
})
