/** Ways to break the promises of the answers' fields. */
import { type Broken, drop, header, of, rowsOf, set } from './mutation.ts'

const replyFields = {
  '/v1/connections': 'institutionLogo',
  '/v1/accounts': 'accountNumber',
  '/v1/balances': 'availableBalance',
  '/v1/transactions': 'merchantName',
  '/v1/holdings': 'unrealizedPnl',
  '/v1/trades': 'settlementDate',
  '/v1/categories': 'label',
}

const replies = Object.entries(replyFields).flatMap(([path, field]): Broken[] => {
  const check = `the answer of ${path} has the documented fields`
  return [
    { check, how: `${field} is missing`, mutate: drop(path, field) },
    {
      check,
      how: `${field} is renamed`,
      mutate: of(path, (answer) => {
        for (const row of rowsOf(answer)) {
          row[`${field}Text`] = row[field]
          delete row[field]
        }
      }),
    },
    {
      check,
      how: 'the content type is text',
      mutate: header('content-type', 'text/plain'),
    },
  ]
})

const decimals = 'every amount, quantity and price is plain decimal text or null'
export const shapes: readonly Broken[] = [
  ...replies,
  {
    check: 'the answer of /v1/accounts has the documented fields',
    how: 'an account number is not masked',
    mutate: set('/v1/accounts', 'accountNumber', '12345678'),
  },
  {
    check: decimals,
    how: 'an amount is a float',
    mutate: set('/v1/transactions', 'amount', -12.5),
  },
  {
    check: decimals,
    how: 'a balance has an exponent',
    mutate: set('/v1/balances', 'currentBalance', '1e3'),
  },
  { check: decimals, how: 'a price has a comma', mutate: set('/v1/trades', 'price', '1,000.00') },
  {
    check: decimals,
    how: 'a zero is negative',
    mutate: set('/v1/holdings', 'unrealizedPnl', '-0.00'),
  },
  {
    check: 'the sixteen categories are exactly those of the contract, in their order',
    how: 'two have changed places',
    mutate: of('/v1/categories', ({ body }) => void body.categories.push(body.categories.shift())),
  },
  {
    check: 'the sixteen categories are exactly those of the contract, in their order',
    how: 'there is a seventeenth',
    mutate: of('/v1/categories', ({ body }) => void body.categories.push(body.categories[0])),
  },
  {
    check: 'connections are ordered by createdAt, newest first',
    how: 'the oldest is first',
    mutate: set('/v1/connections', 'createdAt', '2001-01-01T00:00:00.000Z'),
  },
  {
    check: 'accounts are ordered by name',
    how: 'the last is first',
    mutate: of('/v1/accounts', ({ body }) => void body.data.unshift(body.data.pop())),
  },
  {
    check: 'every account is on a connection that is listed',
    how: 'one is on another',
    mutate: set('/v1/accounts', 'connectionId', '7f0c9a52-3f0e-4a57-9a3f-0d5b7a3a2a10'),
  },
  {
    check: 'balances have each requested account once, also when it is named twice',
    how: 'one is there twice',
    mutate: of('/v1/balances', ({ body }) => void body.data.push(body.data[0])),
  },
  {
    check: 'balances have each requested account once, also when it is named twice',
    how: 'one is left out',
    mutate: of('/v1/balances', ({ body }) => void body.data.pop()),
  },
  {
    check: 'where a balance could not be read, all three of its fields are null',
    how: 'only the currency is null',
    mutate: set('/v1/balances', 'currency', null),
  },
  {
    check: 'the direction of a transaction agrees with the sign of its amount',
    how: 'a sign is turned',
    mutate: of('/v1/transactions', (answer) => {
      const [row] = rowsOf(answer)
      if (row !== undefined) row.amount = row.direction === 'debit' ? '4.50' : '-4.50'
    }),
  },
  {
    check: 'a request for one account gives posted rows of that account alone',
    how: 'a row is pending',
    mutate: set('/v1/transactions', 'status', 'pending'),
  },
  {
    check: 'a request for one account gives posted rows of that account alone',
    how: 'a row is of another account',
    mutate: set('/v1/transactions', 'accountId', '7f0c9a52-3f0e-4a57-9a3f-0d5b7a3a2a10'),
  },
]
