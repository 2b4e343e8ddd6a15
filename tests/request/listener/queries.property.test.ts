/** Whatever stands in a query, no answer is a 500, and every one fits the served description. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import fc from 'fast-check'
import { anyCharacter } from '#tests/support/any-character.ts'
import { activity, linkBroker, position } from '#tests/support/broker.ts'
import { startService } from '#tests/support/service.ts'

const service = await startService()
const user = await service.createUser()
const broker = await linkBroker(service, user, [
  { positions: [position()], activities: [activity()] },
  {},
])
await service.link(user, 'healthy', 'fiskil')
after(() => service.close())

const paths = [
  '/v1/connections',
  '/v1/accounts',
  '/v1/balances',
  '/v1/transactions',
  '/v1/holdings',
  '/v1/trades',
  '/v1/categories',
]
const names = ['connectionId', 'accountId', 'accountIds', 'from', 'to', 'limit', 'offset']

/** Values that mean something, half of them spoilt, and any text at all. */
const value = fc.oneof(
  fc.constant('$connection'),
  fc.constant('$account'),
  fc.constant('$account,$account'),
  fc.constantFrom('2026-11-10', '2026-02-30', '2026-11-10T10:00:00Z', '0000-01-01', '9999-12-31'),
  fc.constantFrom('-271821-04-20', '+275760-09-13', '2026-11-10T23:59:60Z', '2026-11-10T24:00:00Z'),
  fc.integer({ min: -2, max: 2 ** 31 }).map(String),
  fc.string({ unit: anyCharacter, maxLength: 40 }),
  fc.string({ maxLength: 40 }),
)
const pair = fc.tuple(fc.oneof(fc.constantFrom(...names), fc.string({ maxLength: 10 })), value)

test('no query makes a 500', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...paths),
      fc.array(pair, { maxLength: 8 }),
      async (path, pairs) => {
        const query = new URLSearchParams()
        for (const [name, text] of pairs) {
          query.append(
            name,
            text
              .replaceAll('$connection', broker.connection.id)
              .replaceAll('$account', broker.accounts[0]?.id ?? ''),
          )
        }
        // Another minute for the budget of the provider.
        service.clock.advance(2000)
        const answer = await service.get(`${path}?${query}`, user)
        assert([200, 400, 404].includes(answer.status), answer.text)
        if (answer.status === 200) return
        const { error } = answer.body
        assert(error.details === undefined || error.details.length > 0)
      },
    ),
    { numRuns: 600 },
  )
})
