/** Ways to break the promises of `from` and `to`. */
import { type Broken, of, otherCode, refused, status } from './mutation.ts'
import type { Passed } from './proxy.ts'

const oneDay = 'a window of one day has the rows of that day and no others'
const isOneDay = ({ query }: Passed) => query.get('from') === query.get('to')
export const dates: readonly Broken[] = [
  {
    check: 'all bad dates are named at once',
    how: 'only the first is named',
    mutate: refused(({ body }) => void body.error.details?.pop()),
  },
  { check: /^a d.* is 400$/, how: 'it has a code', mutate: otherCode },
  { check: /^(?:from after|a from) .* is 400 /, how: 'it has another code', mutate: otherCode },
  { check: /^(?:from after|a from) .* is 400 /, how: 'it is 404', mutate: status(404) },
  {
    check: oneDay,
    how: 'a row is left out',
    mutate: of('/v1/transactions', ({ body }, request) => {
      if (isOneDay(request)) body.data.pop()
    }),
  },
  {
    check: oneDay,
    how: 'a row is of the day before',
    mutate: of('/v1/transactions', ({ body }, request) => {
      if (isOneDay(request)) body.data[0].date = '2001-01-01'
    }),
  },
  {
    check: 'without from and to, rows are of the last 30 days and none is of the future',
    how: 'a row is older',
    mutate: of('/v1/transactions', ({ body }, { query }) => {
      if (!query.has('from')) body.data[0].date = '2001-01-01'
    }),
  },
  {
    check: 'an instant with an offset is the same bound as its instant in UTC',
    how: 'the offset is not understood',
    mutate: of('/v1/transactions', ({ body }, { query }) => {
      if (query.get('from')?.includes('+10:00')) body.data.pop()
    }),
  },
]
