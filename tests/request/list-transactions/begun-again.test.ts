/**
 * A walk whose cursors are refused begins again at its first page. However often that happens, and wherever a
 * limit of calls stops it, the rows shown before are found again or the request is refused (readings R17 to
 * R19).
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { EmulatorReply } from '#sandbox/emulator.ts'
import { type Service, startService } from '#tests/support/service.ts'
import { akahuRow, type BankUser, makeBankUser, namesOf, plantAkahu } from './planted.ts'

let service: Service
let nz: BankUser
before(async () => {
  service = await startService()
  nz = await makeBankUser(service, { provider: 'akahu', name: 'Rainy Day' })
  for (const { name } of service.sandbox.akahu.people.healthy.accounts)
    plantAkahu(service, name, [])
})
after(() => service.close())

const newest = Date.parse('2026-11-20T00:00:00Z')
const rowCount = 10_300
const rows = Array.from({ length: rowCount }, (_row, index) =>
  akahuRow(`${index}`, new Date(newest - index * 60_000).toISOString()),
)

const refusal: EmulatorReply = { status: 503, body: {} }
const limit: EmulatorReply = { status: 429, headers: { 'retry-after': '1' }, body: {} }

/** Akahu gives these answers to its next pages, and its own ones where there is null and afterwards. */
function answerPages(answers: readonly (EmulatorReply | null)[]): void {
  const rest = [...answers]
  service.sandbox.akahu.addFault({
    when: ({ path }) => path.endsWith('/transactions'),
    does: { kind: 'edit', edit: (own) => rest.shift() ?? own },
  })
}

test('R17: a walk begun again twice (503, 429, 503, well) shows every row of each window', async () => {
  plantAkahu(service, 'Rainy Day', rows)
  const at = async (offset: number) => nz.askAll(`&limit=500&offset=${offset}`)
  const expected = (offset: number) =>
    rows.slice(offset, offset + 500).map(({ description }) => description)
  for (const offset of [0, 5000]) assert.deepEqual(namesOf(await at(offset)), expected(offset))
  // From then on a 5xx may mean that the cursor has expired.
  service.clock.advance(61_000)
  answerPages([refusal, null, null, limit])
  const stopped = await at(9600)
  assert.deepEqual([stopped.status, stopped.headers['retry-after']], [503, '1'])
  service.sandbox.akahu.clearFaults()
  service.clock.advance(61_000)
  answerPages([refusal])
  for (const offset of [9600, 7000, 500, 9000, 10_100]) {
    const answer = await at(offset)
    assert.equal(answer.status, 200, `${offset}: ${answer.text}`)
    assert.deepEqual(namesOf(answer), expected(offset), `offset ${offset}`)
  }
})
