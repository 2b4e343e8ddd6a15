/** Ways to break the promises of pages. */
import { type Broken, later, of } from './mutation.ts'

const walk = (list: string) =>
  `small windows of ${list} give every ${list === 'accounts' ? 'account' : 'row'} once, in the order of large ones`
const ofPath = { accounts: '/v1/accounts', transactions: '/v1/transactions', trades: '/v1/trades' }
const walks = Object.entries(ofPath).flatMap(([list, path]): Broken[] => [
  {
    check: walk(list),
    how: 'a row is missing in a later window',
    mutate: later(path, ({ body }) => void body.data.pop()),
  },
  {
    check: walk(list),
    how: 'a later window has a row twice',
    mutate: later(path, ({ body }) => {
      body.data[0] = body.data[1] ?? body.data[0]
    }),
  },
  {
    check: walk(list),
    how: 'later windows are in another order',
    mutate: later(path, ({ body }) => void body.data.reverse()),
  },
  {
    check: walk(list),
    how: 'the walk ends too early',
    mutate: later(path, ({ body }) => {
      body.pagination.hasMore = false
    }),
  },
  {
    check: walk(list),
    how: 'a later window begins elsewhere',
    mutate: later(path, ({ body }) => {
      body.pagination.offset += 1
    }),
  },
])
const end = 'hasMore is false in the window that reaches the last account, and beyond it'
export const paging: readonly Broken[] = [
  ...walks,
  {
    check: 'the total of accounts is exact in every window',
    how: 'it is that of the window',
    mutate: of('/v1/accounts', ({ body }) => {
      body.pagination.total = body.data.length
    }),
  },
  {
    check: end,
    how: 'hasMore is always true',
    mutate: of('/v1/accounts', ({ body }) => {
      body.pagination.hasMore = true
    }),
  },
  {
    check: end,
    how: 'hasMore is always false',
    mutate: of('/v1/accounts', ({ body }) => {
      body.pagination.hasMore = false
    }),
  },
  {
    check: 'the amounts of both walks have the same exact sum',
    how: 'a later window differs by a cent',
    mutate: later('/v1/transactions', ({ body }) => {
      if (body.data[0] !== undefined) body.data[0].amount += '01'
    }),
  },
  {
    check: 'the total of transactions is exact where hasMore is false',
    how: 'it is one less',
    mutate: of('/v1/transactions', ({ body }) => {
      body.pagination.total -= 1
    }),
  },
  {
    check: 'the total of trades is null while there are more, and exact where there are not',
    how: 'it is a number while there are more',
    mutate: of('/v1/trades', ({ body }) => {
      body.pagination.total ??= 12
    }),
  },
  {
    check: 'the total of trades is null while there are more, and exact where there are not',
    how: 'it is null at the end',
    mutate: of('/v1/trades', ({ body }) => {
      body.pagination.total = null
    }),
  },
]
