/** How far back a bank is asked for rows, and rows that arrive while its pages are read (reading R36). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addDays, getZone, toMicros } from '#kernel/time.ts'
import type { Login } from '#providers/port.ts'
import type { BankRow } from '#sandbox/enablebanking/people.ts'
import {
  accountOf,
  adopt,
  dayMs,
  type Ground,
  hourMs,
  link,
  makeGround,
  personOf,
  press,
  queryFor,
  walk,
} from './harness.ts'

const everything = { window: { from: null, to: null } } as const
const dayOf = (ms: number) => getZone('UTC').dayOf(toMicros(ms))

/** Every list that was begun: its strategy, and how many days back it began. */
const listsOf = ({ server, clock }: Ground) =>
  server.requests
    .filter(({ path, query }) => path.endsWith('/transactions') && !query.has('continuation_key'))
    .map(({ query }) => {
      const from = query.get('date_from') ?? ''
      const days = (Date.parse(dayOf(clock.ms)) - Date.parse(from)) / dayMs
      return [query.get('strategy'), days > 1000 ? 'all' : days]
    })

/** A bank that gives so many days, and says which where `isNamed`. */
function allow(ground: Ground, days: number, { isNamed = false } = {}) {
  ground.server.addFault({
    when: ({ path, query }) =>
      path.endsWith('/transactions') &&
      (query.get('date_from') ?? '') < addDays(dayOf(ground.clock.ms), -days),
    does: {
      kind: 'edit',
      edit: () => ({
        status: 422,
        body: {
          error: 'WRONG_TRANSACTIONS_PERIOD',
          detail: isNamed ? { date_from: addDays(dayOf(ground.clock.ms), -days) } : null,
        },
      }),
    },
  })
}

async function readAgain(ground: Ground, login: Login, afterMs: number) {
  ground.clock.ms += afterMs
  ground.server.requests.length = 0
  const { rows } = await walk(ground.adapter, await queryFor(ground, login, everything))
  return rows
}

for (const error of ['WRONG_REQUEST_PARAMETERS', 'WRONG_TRANSACTIONS_PERIOD']) {
  test(`in the first hour a bank without \`longest\` (${error}) gives everything from an old day on`, async () => {
    await using ground = await makeGround()
    const whole = await link(ground, 'healthy')
    const all = (await walk(ground.adapter, await queryFor(ground, whole, everything), press)).rows
    await using other = await makeGround()
    const login = await link(other, 'healthy')
    other.server.addFault({
      when: ({ query }) => query.get('strategy') === 'longest',
      does: { kind: 'reply', reply: { status: 422, body: { error } } },
    })
    const { rows } = await walk(other.adapter, await queryFor(other, login, everything), press)
    assert.equal(rows.length, all.length)
    assert.deepEqual(listsOf(other), [
      ['longest', 'all'],
      [null, 'all'],
    ])
    await readAgain(other, login, 6 * hourMs + 1)
    assert.deepEqual(listsOf(other), [[null, 89]])
  })
}

test('the days that a bank named are asked for on later days too, and never a day that has become too old', async () => {
  await using ground = await makeGround()
  const login = await adopt(ground, 'twins')
  allow(ground, 40, { isNamed: true })
  await walk(ground.adapter, await queryFor(ground, login, everything))
  assert.deepEqual(listsOf(ground), [
    [null, 89],
    [null, 40],
  ])
  for (const days of [1, 1, 10]) {
    assert.ok((await readAgain(ground, login, days * dayMs + 1)).length > 0)
    assert.deepEqual(listsOf(ground), [[null, 40]])
  }
})

for (const days of [60, 30]) {
  test(`a bank that gives ${days} days and names none is asked for 89, 60 and 30, and remembered`, async () => {
    await using ground = await makeGround()
    const login = await adopt(ground, 'twins')
    allow(ground, days)
    assert.ok(
      (await walk(ground.adapter, await queryFor(ground, login, everything))).rows.length > 0,
    )
    const tried = [89, 60, 30].filter((one) => one >= days)
    assert.deepEqual(
      listsOf(ground),
      tried.map((one) => [null, one]),
    )
    await readAgain(ground, login, dayMs + 1)
    assert.deepEqual(listsOf(ground), [[null, days]])
  })
}

test('days of which the bank gave nothing are not remembered', async () => {
  await using ground = await makeGround()
  const login = await adopt(ground, 'twins')
  allow(ground, 10)
  const query = await queryFor(ground, login, everything)
  await assert.rejects(walk(ground.adapter, query))
  ground.server.clearFaults()
  assert.ok((await readAgain(ground, login, dayMs + 1)).length > 0)
  assert.deepEqual(listsOf(ground), [[null, 89]])
})

for (const [title, border, then] of [
  ['no border with them', null, 60],
  ['a border beside them', 40, 40],
] as const) {
  test(`a refusal that tells its time and the days that were asked for names ${title}`, async () => {
    await using ground = await makeGround()
    const login = await adopt(ground, 'twins')
    const daysAgo = (days: number) => addDays(dayOf(ground.clock.ms), -days)
    const detail = {
      timestamp: `${daysAgo(0)}T10:00:00Z`,
      asked: `${daysAgo(89)} to ${daysAgo(1)}, not 2026-10-32`,
      earliest: border === null ? null : daysAgo(border),
    }
    ground.server.addFault({
      when: ({ query }) => query.get('date_from') === daysAgo(89),
      does: {
        kind: 'reply',
        reply: { status: 422, body: { error: 'WRONG_TRANSACTIONS_PERIOD', detail } },
      },
    })
    await walk(ground.adapter, await queryFor(ground, login, everything))
    assert.deepEqual(listsOf(ground), [
      [null, 89],
      [null, then],
    ])
  })
}

test('a row that arrives while pages are read doubles none, where the bank’s key is a place in its list', async () => {
  await using ground = await makeGround()
  const login = await adopt(ground, 'history')
  const account = accountOf(ground, 'history')
  personOf(ground, 'history').habits.ids = 'kept'
  const newest = account.rows.reduce((one, other) => (one.bookedAt > other.bookedAt ? one : other))
  const arriving = (id: string): BankRow => ({ ...newest, id, description: `arrived ${id}` })
  let pages = 0
  ground.server.addFault({
    when({ path }) {
      if (path.endsWith('/transactions')) pages += 1
      if (pages === 3) account.rows.push(arriving('zz-1'), arriving('zz-2'))
      return false
    },
    does: { kind: 'reply', reply: { status: 500, body: {} } },
  })
  const { rows } = await walk(ground.adapter, await queryFor(ground, login, everything))
  // Those that arrived are on the first page, which was read before.
  assert.equal(rows.length, 5_400)
  // A row is not left out in silence (reading R23).
  assert.deepEqual(ground.oddities, ['a page repeats rows of an earlier one'])
})
