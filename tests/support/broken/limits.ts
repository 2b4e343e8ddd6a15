/** Ways to break the promises of limits. */
import { type Broken, header, of, otherCode, refused } from './mutation.ts'

const clamped = 'a limit of accounts above 200 is clamped to 200, and the default is 50'
const many = 'balances of 101 accounts are 400 too_many_accounts; the same account 101 times is one'
let requests = 0
export const limits: readonly Broken[] = [
  {
    check: clamped,
    how: 'it is not clamped',
    mutate: of('/v1/accounts', ({ body }, { query }) => {
      body.pagination.limit = Number(query.get('limit') ?? 50)
    }),
  },
  {
    check: clamped,
    how: 'the default is 200',
    mutate: of('/v1/accounts', ({ body }) => {
      body.pagination.limit = 200
    }),
  },
  {
    check: 'a limit of transactions above 500 is clamped to at most 500',
    how: 'it is not clamped',
    mutate: of('/v1/transactions', ({ body }, { query }) => {
      body.pagination.limit = Number(query.get('limit'))
    }),
  },
  { check: many, how: 'it has another code', mutate: otherCode },
  {
    check: many,
    how: 'the same account is counted 101 times',
    mutate: refused((answer) => {
      answer.status = 400
    }),
  },
  {
    check: 'accountIds of holdings above 4,000 characters are 400 invalid_params',
    how: 'it has another code',
    mutate: otherCode,
  },
  {
    check: 'each request lowers X-RateLimit-Remaining, a cached one too',
    how: 'it stays',
    mutate: header('x-ratelimit-remaining', '7'),
  },
  {
    check: 'X-RateLimit-Reset is the end of a window of one minute, in epoch seconds',
    how: 'it is in milliseconds',
    mutate: ({ headers }) => {
      headers['x-ratelimit-reset'] += '000'
    },
  },
  {
    check: 'X-RateLimit-Reset is the end of a window of one minute, in epoch seconds',
    how: 'it is a number of seconds',
    mutate: header('x-ratelimit-reset', '60'),
  },
  {
    check: 'an unknown path consumes nothing',
    how: 'it is counted',
    mutate: ({ headers }) => {
      requests += 1
      headers['x-ratelimit-remaining'] = String(100_000 - requests)
    },
  },
]
