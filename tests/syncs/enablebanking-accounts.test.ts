/** Syncs of a bank with several accounts at Enable Banking: each account is read for itself. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { BankRow } from '#sandbox/enablebanking/people.ts'
import { toUid } from '#sandbox/enablebanking/sessions.ts'
import { startService } from '#tests/support/service.ts'
import { watch } from './watcher.ts'

const dayMs = 86_400_000

/** The person with three accounts, each with rows of its own days, so that they interleave. */
async function open(t: TestContext) {
  const service = await startService()
  t.after(() => service.close())
  const { clock, sandbox } = service
  const accounts = sandbox.enablebanking.people.healthy?.accounts ?? []
  let count = 0
  const row = (daysAgo: number, text: string): BankRow => {
    count += 1
    const bookedAt = Math.floor(clock.now() / dayMs - daysAgo) * dayMs
    return { id: `R${count}`, bookedAt, amount: `-${count}.10`, description: text, payee: text }
  }
  for (const [index, account] of accounts.entries()) {
    account.rows = [1, 4, 7].map((days) => row(days + index, `shop ${index} ${days}`))
  }
  const user = await service.createUser()
  const watcher = await watch(service, user)
  const [connection = assert.fail()] = await service.link(user, 'healthy', 'enablebanking')
  const descriptions = async () => {
    const { new: news } = await watcher.sync(connection.id)
    return news.map(({ description }) => String(description)).toSorted()
  }
  return { service, user, accounts, row, connection, descriptions }
}

test('R34a: every row of a bank with three accounts is announced once, although their days interleave', async (t) => {
  const { accounts, row, descriptions, service } = await open(t)
  assert.equal(accounts.length, 3)
  const first = await descriptions()
  assert.equal(first.length, 9)
  assert.equal(new Set(first).size, 9)
  service.clock.advance(dayMs)
  accounts[1]?.rows.push(row(0, 'late'))
  assert.deepEqual(await descriptions(), ['late'])
  service.clock.advance(dayMs)
  assert.deepEqual(await descriptions(), [])
})

test('an account that its bank refuses keeps no other from being announced, and loses no row', async (t) => {
  const { accounts, row, descriptions, service } = await open(t)
  await descriptions()
  const [refused, other] = accounts
  assert.ok(refused !== undefined && other !== undefined)
  const { sessions } = service.sandbox.enablebanking.site.sessions
  const uids = [...sessions.values()].map((session) => toUid(session, refused.hash))
  const fault = {
    when: ({ path }: { readonly path: string }) =>
      path.endsWith('/transactions') && uids.some((uid) => path.includes(uid)),
    does: {
      kind: 'reply',
      reply: { status: 403, body: { code: 403, error: 'ACCESS_DENIED', message: 'no' } },
    },
  } as const
  service.sandbox.enablebanking.addFault(fault)
  service.clock.advance(dayMs)
  refused.rows.push(row(0, 'behind the refusal'))
  other.rows.push(row(0, 'seen'))
  assert.deepEqual(await descriptions(), ['seen'])
  assert.match(service.logLines.join(''), /"unread":1/)
  service.sandbox.enablebanking.clearFaults()
  service.clock.advance(dayMs)
  assert.deepEqual(await descriptions(), ['behind the refusal'])
})

test('an adopted account of many currencies has that of its money once a sync has read it', async (t) => {
  const service = await startService()
  t.after(() => service.close())
  const user = await service.createUser()
  const watcher = await watch(service, user)
  const currencies = async () =>
    (await service.accounts(user)).map(({ currency }) => currency).toSorted()
  const [connection = assert.fail()] = await service.link(user, 'foreign', 'enablebanking')
  assert.deepEqual(await currencies(), ['EUR', 'EUR'])
  await watcher.sync(connection.id)
  assert.deepEqual(await currencies(), ['EUR', 'SEK'])
})
