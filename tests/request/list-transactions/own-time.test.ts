/**
 * Requests whose own time ends before the pages of their provider do (readings R20c, R21), and what is asked
 * of every provider. Real time passes here, in tenths of a second.
 */
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { request } from 'undici'
import { codeOf, type Service, startService } from '#tests/support/service.ts'
import { akahuRow, type BankUser, makeBankUser, namesOf, plantAkahu } from './planted.ts'

let service: Service
let nz: BankUser
before(async () => {
  service = await startService({ env: { REQUEST_TIMEOUT_MS: '2000' } })
  nz = await makeBankUser(service, { provider: 'akahu', name: 'Rainy Day' })
  for (const { name } of service.sandbox.akahu.people.healthy.accounts) {
    plantAkahu(service, name, [])
  }
})
beforeEach(() => {
  service.sandbox.akahu.clearFaults()
  service.sandbox.akahu.latencyMs = 0
  // Walks, cached answers and breakers of the test before are over.
  service.clock.advance(3_700_000)
})
after(() => service.close())

const newest = Date.parse('2026-11-20T00:00:00Z')
const rows = Array.from({ length: 4000 }, (_row, index) =>
  akahuRow(`${index}`, new Date(newest - index * 60_000).toISOString()),
)

test('R21: a read that runs out of its own time while pages keep arriving is 503, and no failure of the provider', async () => {
  plantAkahu(service, 'Rainy Day', rows)
  service.sandbox.akahu.latencyMs = 300
  for (let count = 0; count < 4; count += 1) {
    const answer = await nz.askAll('&limit=5')
    assert.deepEqual([answer.status, codeOf(answer)], [503, undefined], answer.text)
    assert.equal(answer.headers['retry-after'], '30')
  }
  service.sandbox.akahu.latencyMs = 0
  assert.deepEqual(namesOf(await nz.askAll('&limit=3')), ['0', '1', '2'])
})

/** What the doctor says of the connection. */
async function readFinding(): Promise<{ message: string; action: string } | undefined> {
  const response = await request(`${service.adminUrl}/admin/doctor`, {
    headers: { authorization: `Bearer ${service.adminToken}` },
  })
  const { checks } = (await response.body.json()) as {
    checks: { name: string; message: string; action: string }[]
  }
  return checks.find(({ name }) => name === `connection:${nz.account.connectionId}`)
}

test('R21: of a read that ran out of its own time the doctor says that pages kept arriving and what to do, of one whose caller left nothing', async () => {
  plantAkahu(service, 'Rainy Day', rows)
  service.sandbox.akahu.latencyMs = 300
  const leaving = AbortSignal.timeout(1000)
  const left = request(
    `${service.baseUrl}/v1/transactions?connectionId=${nz.account.connectionId}`,
    {
      headers: { authorization: `Bearer ${nz.user.key}` },
      signal: leaving,
    },
  )
  await assert.rejects(left, { name: 'TimeoutError' })
  assert.equal(await readFinding(), undefined)
  assert.equal((await nz.askAll('&limit=5')).status, 503)
  const found = await readFinding()
  assert.match(found?.message ?? '', /\(unavailable\): its answers kept coming/)
  assert.match(found?.action ?? '', /^Raise REQUEST_TIMEOUT_MS/)
  service.sandbox.akahu.latencyMs = 0
  assert.equal((await nz.askAll('&limit=5')).status, 200)
  assert.equal(await readFinding(), undefined)
})

test('R21: a provider that falls silent in the middle of its pages is one failure for each request', async () => {
  plantAkahu(service, 'Rainy Day', rows)
  service.sandbox.akahu.addFault({
    when: ({ query }) => query.has('cursor'),
    does: { kind: 'hang' },
  })
  const codes: (string | undefined)[] = []
  for (let count = 0; count < 4; count += 1) codes.push(codeOf(await nz.askAll('&limit=5')))
  assert.deepEqual(codes, [undefined, undefined, undefined, 'upstream_breaker_open'])
})

test('every provider is asked for bodies that are not compressed', async () => {
  const user = await service.createUser()
  for (const { id, provider } of await service.link(user, 'healthy')) {
    const list = provider === 'snaptrade' ? 'trades' : 'transactions'
    assert.equal((await service.get(`/v1/${list}?connectionId=${id}`, user)).status, 200)
  }
  const { fiskil, akahu, snaptrade, up } = service.sandbox
  for (const { requests } of [fiskil, akahu, snaptrade, up]) {
    assert.ok(requests.length > 0)
    const encodings = new Set(requests.map(({ headers }) => headers['accept-encoding']))
    assert.deepEqual([...encodings], ['identity'])
  }
})
