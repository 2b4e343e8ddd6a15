/** Ways to break the promises of refusals. */
import {
  type Broken,
  header,
  of,
  otherCode,
  otherMessage,
  refused,
  status,
  withoutDetails,
} from './mutation.ts'

const isCredential = /is 401 |are 401 /
const isUnknown = /404 not_found|is another path: 404$/
const isInvalid = /(?:is|are) 400(?:$|, and the details)/
const wrongCategory = /^(?:transactions|holdings|trades) of a .* wrong_endpoint/
const plan = 'without the plan for brokers, holdings and trades are 403 professional_required'
const codeless = 'balances of an unknown account are 404 without code'
const sameBytes =
  'an unknown connection is 404 connection_not_found, UUID or not, with the same bytes'
const brokerBalances =
  'balances of a brokerage account are 400 wrong_endpoint_for_category and name it'

export const errors: readonly Broken[] = [
  { check: isCredential, how: 'it is 404', mutate: status(404) },
  { check: isCredential, how: 'it has another code', mutate: otherCode },
  {
    check: isCredential,
    how: 'WWW-Authenticate is missing',
    mutate: header('www-authenticate', null),
  },
  { check: isUnknown, how: 'it is 401', mutate: status(401) },
  { check: isUnknown, how: 'it is 405', mutate: status(405) },
  { check: isUnknown, how: 'X-Cache is missing', mutate: header('x-cache', null) },
  { check: isInvalid, how: 'it is 422', mutate: status(422) },
  { check: isInvalid, how: 'it has no details', mutate: withoutDetails },
  { check: isInvalid, how: 'it has another code', mutate: otherCode },
  {
    check: 'unknown parameters are ignored',
    how: 'they are refused',
    mutate: of('/v1/categories', (answer) => {
      answer.status = 400
    }),
  },
  { check: sameBytes, how: 'it is 400', mutate: status(400) },
  {
    check: sameBytes,
    how: 'the message has the id',
    mutate: refused(({ body }, { query }) => {
      body.error.message += ` ${query.get('connectionId')}`
    }),
  },
  {
    check: 'an unknown account is 404 account_not_found',
    how: 'it has another code',
    mutate: otherCode,
  },
  { check: codeless, how: 'it has a code', mutate: otherCode },
  { check: wrongCategory, how: 'the message names no endpoint', mutate: otherMessage },
  { check: wrongCategory, how: 'it has another code', mutate: otherCode },
  { check: brokerBalances, how: 'the message names no account', mutate: otherMessage },
  { check: brokerBalances, how: 'it is 404', mutate: status(404) },
  { check: plan, how: 'it has another code', mutate: otherCode, plan: 'developer' },
  {
    check: plan,
    how: 'trades are served',
    mutate: (answer, { path }) => {
      if (path === '/v1/trades') answer.status = 200
    },
    plan: 'developer',
  },
  {
    check: /^every error has a message/,
    how: 'a code is null',
    mutate: refused(({ body }) => {
      if (body?.error) body.error.code = null
    }),
  },
  {
    check: /^every error has a message/,
    how: 'details are an empty list',
    mutate: refused(({ body }) => {
      if (body?.error) body.error.details = []
    }),
  },
  {
    check: /^every error has a message/,
    how: 'the body is a text',
    mutate: refused((answer) => {
      answer.body = 'no'
    }),
  },
]
