/**
 * Checks of limits that can be examined without pressing against them: sizes of pages and lists, and what is
 * counted.
 */
import { expect, skip } from './check.ts'
import { describe, errorOf, pagesOf } from './exchange.ts'
import {
  holdingsPath,
  nobodysId,
  rowsPath,
  type ServerCheck,
  type ServerChecks,
} from './session.ts'

/** Clocks of two machines may differ. */
const toleranceSeconds = 120

const sizes: readonly ServerCheck[] = [
  {
    name: 'a limit of accounts above 200 is clamped to 200, and the default is 50',
    clause: 'R11',
    async run({ client }) {
      const [large, plain] = [
        await client.ask('/v1/accounts?limit=1000'),
        await client.ask('/v1/accounts'),
      ]
      for (const [answer, wanted] of [
        [large, 200],
        [plain, 50],
      ] as const) {
        expect(answer.status === 200, '200', describe(answer))
        expect(pagesOf(answer).limit === wanted, `pagination.limit ${wanted}`, pagesOf(answer))
      }
    },
  },
  {
    name: 'a limit of transactions above 500 is clamped to at most 500',
    clause: 'R11',
    async run(session) {
      const path = `${rowsPath(await session.bankAccount(), session.now())}&limit=9999`
      const answer = await session.client.ask(path)
      if (answer.status === 503) skip('the server answers 503')
      expect(answer.status === 200, '200', describe(answer))
      const { limit } = pagesOf(answer)
      expect(typeof limit === 'number' && limit <= 500, 'pagination.limit 500', pagesOf(answer))
    },
  },
  {
    name: 'balances of 101 accounts are 400 too_many_accounts; the same account 101 times is one',
    clause: 'R13',
    async run({ client }) {
      const ids = Array.from({ length: 101 }, () => crypto.randomUUID())
      const many = await client.ask(`/v1/balances?accountIds=${ids}`)
      expect(errorOf(many).code === 'too_many_accounts', 'too_many_accounts', describe(many))
      const same = await client.ask(`/v1/balances?accountIds=${ids.fill(nobodysId)}`)
      expect(same.status === 404, '404, as for one unknown account', describe(same))
    },
  },
  {
    name: 'accountIds of holdings above 4,000 characters are 400 invalid_params',
    clause: 'contract, Limits',
    async run(session) {
      const path = holdingsPath(await session.brokerage())
      const answer = await session.client.ask(`${path}&accountIds=${'a'.repeat(4001)}`)
      expect(errorOf(answer).code === 'invalid_params', 'invalid_params', describe(answer))
    },
  },
]

const counts: readonly ServerCheck[] = [
  {
    name: 'each request lowers X-RateLimit-Remaining, a cached one too',
    clause: 'R7',
    async run({ client }) {
      const read = async () => {
        const { headers } = await client.ask('/v1/categories')
        const number = (name: string) => Number(headers.get(`x-ratelimit-${name}`))
        return { limit: number('limit'), remaining: number('remaining'), reset: number('reset') }
      }
      const [first, second] = [await read(), await read()]
      if (first.limit === 0) skip('the limit is turned off')
      const isNewWindow = second.reset > first.reset
      const seen = `${first.remaining}, then ${second.remaining}`
      expect(isNewWindow || second.remaining < first.remaining, 'fewer', seen)
      expect(second.remaining < second.limit, 'fewer than the limit', second)
    },
  },
  {
    name: 'X-RateLimit-Reset is the end of a window of one minute, in epoch seconds',
    clause: 'R7',
    async run({ client, now }) {
      const { headers } = await client.ask('/v1/categories')
      if (headers.get('x-ratelimit-limit') === '0') skip('the limit is turned off')
      const reset = Number(headers.get('x-ratelimit-reset'))
      const date = Date.parse(headers.get('date') ?? '')
      const at = Math.floor((Number.isNaN(date) ? now() : date) / 1000)
      const ahead = reset - at
      const holds = ahead >= -toleranceSeconds && ahead <= 60 + toleranceSeconds
      expect(holds, 'within the next minute', `${reset}, ${ahead} s ahead`)
    },
  },
  {
    name: 'an unknown path consumes nothing',
    clause: 'R6',
    async run({ client }) {
      const read = async () => (await client.ask('/v1/conformance')).headers
      const [first, second] = [await read(), await read()]
      const name = 'x-ratelimit-remaining'
      const isNewWindow = first.get('x-ratelimit-reset') !== second.get('x-ratelimit-reset')
      const holds = isNewWindow || first.get(name) === second.get(name)
      expect(holds, `${first.get(name)} left`, `${second.get(name)} left`)
    },
  },
]

export const limits: ServerChecks = { name: 'limits', checks: [...sizes, ...counts] }
