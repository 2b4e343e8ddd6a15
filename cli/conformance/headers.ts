/**
 * Checks of the headers: on every answer that the run has seen, so the subject comes last, and on a few of
 * its own.
 */
import { expect, skip } from './check.ts'
import { describe, type ServerAnswer } from './exchange.ts'
import { nobodysId, rowsPath, type ServerCheck, type ServerChecks } from './session.ts'

const clause = 'contract, Common response headers'

const served = (answers: readonly ServerAnswer[]) =>
  answers.filter(({ path }) => path.startsWith('/v1'))
const shortOf = ({ method, path, status }: ServerAnswer) => `${method} ${path} → ${status}`

const seen: readonly ServerCheck[] = [
  {
    name: 'X-RateLimit-Limit, -Remaining and -Reset are whole numbers on every answer',
    clause: 'R6',
    async run({ client }) {
      for (const answer of served(client.answers)) {
        for (const name of ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset']) {
          const value = answer.headers.get(name)
          expect(/^\d+$/.test(value ?? ''), `${name}: a number`, `${shortOf(answer)}: ${value}`)
        }
      }
    },
  },
  {
    name: 'X-Cache is HIT, MISS or BYPASS on every answer, and HIT on no error',
    clause: 'R8',
    async run({ client }) {
      for (const answer of served(client.answers)) {
        const value = answer.headers.get('x-cache')
        const allowed = answer.status === 200 ? /^(?:HIT|MISS|BYPASS)$/ : /^(?:MISS|BYPASS)$/
        expect(allowed.test(value ?? ''), String(allowed), `${shortOf(answer)}: ${value}`)
      }
    },
  },
  {
    name: 'what is refused before the cache is asked (401, 403, 429) has X-Cache: BYPASS',
    clause: 'R8',
    async run({ client }) {
      const refused = served(client.answers).filter(({ status }) =>
        [401, 403, 429].includes(status),
      )
      if (refused.length === 0) skip('no such answer was seen')
      for (const answer of refused) {
        const value = answer.headers.get('x-cache')
        expect(value === 'BYPASS', 'BYPASS', `${shortOf(answer)}: ${value}`)
      }
    },
  },
  {
    name: '429 and 503 have Retry-After in seconds',
    clause,
    async run({ client }) {
      const busy = client.answers.filter(({ status }) => status === 429 || status === 503)
      if (busy.length === 0) skip('no such answer was seen')
      for (const answer of busy) {
        const value = answer.headers.get('retry-after')
        expect(/^\d+$/.test(value ?? ''), 'Retry-After: seconds', `${shortOf(answer)}: ${value}`)
      }
    },
  },
]

const deprecation = ['Deprecation', 'Sunset', 'Link']

function expectDeprecated(answer: ServerAnswer): void {
  const { headers } = answer
  const found = deprecation.map((name) => `${name}: ${headers.get(name)}`).join('; ')
  const holds =
    headers.get('deprecation') === 'true' &&
    headers.get('sunset') === 'Wed, 01 Sep 2027 00:00:00 GMT' &&
    /rel="?deprecation"?/.test(headers.get('link') ?? '')
  expect(holds, 'Deprecation, Sunset and Link', `${shortOf(answer)}: ${found}`)
}

const own: readonly ServerCheck[] = [
  {
    name: 'the second of two equal requests is a HIT with the same bytes',
    clause,
    async run({ client }) {
      // An unknown parameter is ignored, but it makes an entry of its own.
      const path = `/v1/accounts?limit=3&conformance=${Math.floor(Math.random() * 1e9)}`
      const [first, second] = [await client.ask(path), await client.ask(path)]
      expect(first.status === 200, '200', describe(first))
      const cache = [first, second].map(({ headers }) => headers.get('x-cache')).join(', ')
      if (cache === 'BYPASS, BYPASS') skip('the server has no cache now')
      expect(/^(?:HIT|MISS), HIT$/.test(cache), 'MISS, HIT', cache)
      expect(first.text === second.text, 'the same bytes', 'other bytes')
    },
  },
  {
    name: 'transactions without accountId are announced as deprecated, in errors too',
    clause: 'R9',
    async run(session) {
      expectDeprecated(await session.client.ask('/v1/transactions'))
      expectDeprecated(await session.client.ask(`/v1/transactions?connectionId=${nobodysId}`))
      const { connectionId } = await session.bankAccount()
      const day = new Date(session.now()).toISOString().slice(0, 10)
      const path = `/v1/transactions?connectionId=${connectionId}&from=${day}&limit=1`
      expectDeprecated(await session.client.ask(path))
    },
  },
  {
    name: 'transactions with accountId, and other operations, are not announced as deprecated',
    clause: 'R9',
    async run(session) {
      const place = await session.bankAccount()
      await session.client.once(`${rowsPath(place, session.now())}&limit=500`)
      const others = served(session.client.answers).filter(
        ({ path, method }) =>
          method === 'GET' &&
          (!/^\/v1\/transactions(?:\?|$)/.test(path) || /[?&]accountId=/.test(path)),
      )
      for (const answer of others) {
        const found = deprecation.filter((name) => answer.headers.has(name))
        expect(found.length === 0, 'no such header', `${shortOf(answer)}: ${found}`)
      }
    },
  },
  {
    name: 'X-Service-Truncated is only on pages with more rows',
    clause: 'R17',
    async run({ client }) {
      const cut = client.answers.filter(({ headers }) => headers.has('x-service-truncated'))
      if (cut.length === 0) skip('no answer was cut short')
      for (const answer of cut) {
        const holds =
          answer.headers.get('x-service-truncated') === 'true' &&
          /"hasMore":\s*true/.test(answer.text)
        expect(holds, 'true, with hasMore true', shortOf(answer))
      }
    },
  },
]

/** Looks at every answer, so it runs last. */
export const headers: ServerChecks = { name: 'headers', checks: [...own, ...seen] }
