/** Checks of `from` and `to`: what is refused and how, and that rows are of the days that were asked for. */
import { dayMs, hourMs } from '#kernel/time.ts'
import { expect, skip } from './check.ts'
import { describe, errorOf, rowsOf, type ServerAnswer } from './exchange.ts'
import {
  type CheckSession,
  nobodysId,
  rowsPath,
  type ServerCheck,
  type ServerChecks,
} from './session.ts'

const clause = 'R14'
/** Dates are judged before the connection is looked for (reading R3): no account is needed. */
const base = `/v1/transactions?connectionId=${nobodysId}&accountId=${nobodysId}`
const toDay = (at: number) => new Date(at).toISOString().slice(0, 10)

function expectDates(answer: ServerAnswer, fields: readonly string[]): void {
  const { message, code, details } = errorOf(answer)
  const lines = Array.isArray(details) ? details.map(String) : []
  const areNamed = fields.every((field) => lines.some((line) => line.startsWith(`${field}: `)))
  const holds =
    answer.status === 400 &&
    code === undefined &&
    message === 'Invalid date parameters' &&
    areNamed &&
    lines.length === fields.length
  expect(holds, `400 without code, details of ${fields.join(' and ')}`, describe(answer))
}

const badFrom = (name: string, text: string): ServerCheck => ({
  name,
  clause,
  run: async ({ client }) => expectDates(await client.ask(`${base}&from=${text}`), ['from']),
})

function badRange(
  name: string,
  own: { readonly code: string; readonly clause: string },
  query: (now: number) => string,
): ServerCheck {
  return {
    name,
    clause: own.clause,
    async run({ client, now }) {
      const answer = await client.ask(base + query(now()))
      const holds = answer.status === 400 && errorOf(answer).code === own.code
      expect(holds, `400 ${own.code}`, describe(answer))
    },
  }
}

const refused: readonly ServerCheck[] = [
  {
    name: 'all bad dates are named at once',
    clause,
    run: async ({ client }) =>
      expectDates(await client.ask(`${base}&from=yesterday&to=01/02/2026`), ['from', 'to']),
  },
  badFrom('a date-time without Z or offset is 400', '2026-01-31T10:00:00'),
  badFrom('a day that no calendar has is 400', '2026-02-30'),
  badRange(
    'from after to is 400 invalid_date_range',
    { code: 'invalid_date_range', clause: 'R15' },
    (now) => `&from=${toDay(now - dayMs)}&to=${toDay(now - 9 * dayMs)}`,
  ),
  badRange(
    'a from in the future, without to, is 400 invalid_date_range',
    { code: 'invalid_date_range', clause: 'R15' },
    (now) => `&from=${toDay(now + 9 * dayMs)}`,
  ),
  badRange(
    'a from of more than seven years back is 400 from_too_old',
    { code: 'from_too_old', clause: 'R15' },
    (now) => `&from=${toDay(now - 8 * 366 * dayMs)}`,
  ),
]

async function readRows(session: CheckSession) {
  const { connectionId, accountId } = await session.bankAccount()
  const place = { connectionId, accountId }
  const year = await session.client.once(`${rowsPath(place, session.now())}&limit=500`)
  const rows = rowsOf(year)
  if (rows.length === 0) skip('the account has no rows in a year')
  return {
    rows,
    path: `/v1/transactions?connectionId=${connectionId}&accountId=${accountId}&limit=500`,
  }
}

const windows: readonly ServerCheck[] = [
  {
    name: 'a window of one day has the rows of that day and no others',
    clause,
    async run(session) {
      const { rows, path } = await readRows(session)
      // In the middle of what is known, so that the whole day is.
      const day = String(rows[Math.floor(rows.length / 2)]?.date)
      const answer = await session.client.ask(`${path}&from=${day}&to=${day}`)
      expect(answer.status === 200, '200', describe(answer))
      const got = rowsOf(answer)
      const stranger = got.find(({ date }) => date !== day)
      expect(stranger === undefined, `rows of ${day}`, stranger)
      const ids = (list: typeof rows) =>
        list
          .map(({ id }) => String(id))
          .toSorted()
          .join(' ')
      const wanted = ids(rows.filter(({ date }) => date === day))
      expect(ids(got) === wanted, `the ids ${wanted}`, ids(got))
    },
  },
  {
    name: 'without from and to, rows are of the last 30 days and none is of the future',
    clause,
    async run(session) {
      const { path } = await readRows(session)
      const answer = await session.client.ask(path)
      expect(answer.status === 200, '200', describe(answer))
      // The day of the person's time zone may be the one before or after the one of UTC.
      const [from, to] = [toDay(session.now() - 31 * dayMs), toDay(session.now() + dayMs)]
      const stranger = rowsOf(answer).find(({ date }) => String(date) < from || String(date) > to)
      expect(stranger === undefined, `dates from ${from} to ${to}`, stranger)
    },
  },
  {
    name: 'an instant with an offset is the same bound as its instant in UTC',
    clause,
    async run(session) {
      const { path } = await readRows(session)
      const at = Math.floor((session.now() - 60 * dayMs) / hourMs) * hourMs
      const utc = new Date(at).toISOString().replace('.000Z', 'Z')
      const east = new Date(at + 10 * hourMs).toISOString().replace('.000Z', '%2B10:00')
      const ask = (from: string) =>
        session.client.ask(`${path}&from=${from}&to=${toDay(session.now() - 2 * dayMs)}`)
      const [first, second] = [await ask(utc), await ask(east)]
      expect(first.status === 200, '200', describe(first))
      expect(second.status === 200, '200', describe(second))
      const [wanted, got] = [first, second].map((one) =>
        rowsOf(one)
          .map(({ id }) => id)
          .join(' '),
      )
      expect(wanted === got, wanted ?? '', got)
    },
  },
]

export const dates: ServerChecks = { name: 'dates', checks: [...refused, ...windows] }
