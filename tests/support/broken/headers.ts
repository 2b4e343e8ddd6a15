/** Ways to break the promises of the headers. */
import { type Broken, header, of, refused } from './mutation.ts'

let requests = 0
const hit = 'the second of two equal requests is a HIT with the same bytes'
const deprecated = 'transactions without accountId are announced as deprecated, in errors too'
const cache = 'X-Cache is HIT, MISS or BYPASS on every answer, and HIT on no error'
export const headers: readonly Broken[] = [
  { check: hit, how: 'nothing is kept', mutate: header('x-cache', 'MISS') },
  {
    check: hit,
    how: 'the bytes differ',
    mutate: of('/v1/accounts', ({ body }) => {
      requests += 1
      body.request = requests
    }),
  },
  ...['deprecation', 'sunset', 'link'].map((name) => ({
    check: deprecated,
    how: `${name} is missing`,
    mutate: header(name, null),
  })),
  {
    check: deprecated,
    how: 'errors lack it',
    mutate: refused(({ headers: all }) => void delete all.sunset),
  },
  {
    check: 'transactions with accountId, and other operations, are not announced as deprecated',
    how: 'all are',
    mutate: header('deprecation', 'true'),
  },
  {
    check: 'X-Service-Truncated is only on pages with more rows',
    how: 'it is on the last one',
    mutate: header('x-service-truncated', 'true'),
  },
  ...['limit', 'remaining', 'reset'].map((name) => ({
    check: 'X-RateLimit-Limit, -Remaining and -Reset are whole numbers on every answer',
    how: `${name} is missing on errors`,
    mutate: refused(({ headers: all }) => void delete all[`x-ratelimit-${name}`]),
  })),
  { check: cache, how: 'it is STALE', mutate: header('x-cache', 'STALE') },
  {
    check: cache,
    how: 'an error is a HIT',
    mutate: refused(({ headers: all }) => {
      all['x-cache'] = 'HIT'
    }),
  },
  {
    check: 'what is refused before the cache is asked (401, 403, 429) has X-Cache: BYPASS',
    how: 'it is a MISS',
    mutate: refused(({ headers: all }) => {
      all['x-cache'] = 'MISS'
    }),
  },
  {
    check: '429 and 503 have Retry-After in seconds',
    how: 'it is missing',
    mutate: refused((answer) => {
      answer.status = 503
    }),
  },
]
