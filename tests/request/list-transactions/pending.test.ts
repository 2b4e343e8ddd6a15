/** Pending rows, and the posted ones that replaced them (reading R39). */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Provider } from '#contract/resources.ts'
import { codeOf, makeStillClock, type ServiceUser, startService } from '#tests/support/service.ts'
import { akahuRow, fiskilRow, makeBankUser, plantAkahu, plantFiskil } from './planted.ts'

interface Row {
  readonly id: string
  readonly status: string
  readonly date: string
  readonly description: string
  readonly amount: string
  readonly supersedes?: string
  readonly postDate: string | null
  readonly postDatetime: string | null
  readonly valueDate: string | null
  readonly valueDatetime: string | null
}

const hourMs = 3_600_000
const clock = makeStillClock()
const service = await startService({ clock })
after(() => service.close())

/** The same hour a week later: the clock is never set back. */
function beginAnew(): void {
  const weekMs = 7 * 24 * hourMs
  clock.set(Math.ceil(clock.now() / weekMs) * weekMs + 2 * hourMs)
}

const isPending = ({ status }: Row) => status === 'pending'

/** One account of the magic user `pending` at this provider. */
async function openPending(provider: Provider) {
  const user = await service.createUser()
  await service.link(user, 'pending', provider)
  const [account] = await service.accounts(user)
  assert.ok(account !== undefined)
  const path = `/v1/transactions?connectionId=${account.connectionId}&accountId=${account.id}`
  return {
    user,
    path,
    async read(query = ''): Promise<readonly Row[]> {
      const answer = await service.get(`${path}&includePending=true&limit=500${query}`, user)
      assert.equal(answer.status, 200, answer.text)
      return answer.body.data
    },
  }
}

const stepsOf: Readonly<Record<string, number>> = {
  fiskil: hourMs,
  akahu: hourMs,
  up: hourMs,
  simplefin: 2 * hourMs,
  // A bank allows four calls in any 24 hours, and the link has had one.
  enablebanking: 9 * hourMs,
}

for (const provider of ['fiskil', 'akahu', 'up', 'simplefin', 'enablebanking'] as const) {
  test(`R39: at ${provider} a row is pending under one id until a posted row supersedes it`, async () => {
    beginAnew()
    const bank = await openPending(provider)
    const pending = new Map<string, Row>()
    const replaced = new Set<string>()
    const posted = new Set<string>()
    for (let step = 0; step < 24; step += 1, clock.advance(stepsOf[provider] ?? hourMs)) {
      const rows = await bank.read()
      assert.deepEqual(
        rows.map(({ date }) => date),
        rows
          .map(({ date }) => date)
          .toSorted()
          .toReversed(),
        'newest first',
      )
      assert.equal(new Set(rows.map(({ id }) => id)).size, rows.length, 'no row twice')
      const now = rows.filter(isPending)
      for (const [id] of pending) {
        const isListed = now.some((row) => row.id === id)
        const claims = rows.filter(({ supersedes }) => supersedes === id)
        assert.equal(claims.length + Number(isListed), 1, `step ${step}: pending or replaced, once`)
        const [claim] = claims
        if (claim === undefined) continue
        assert.equal(claim.amount, pending.get(id)?.amount)
        replaced.add(id)
      }
      for (const row of rows) {
        for (const name of ['postDate', 'postDatetime', 'valueDate', 'valueDatetime'] as const) {
          assert.notEqual(row[name], undefined, name)
        }
        if (isPending(row)) {
          assert.match(row.id, /^pending_[0-9a-z]{26}$/)
          assert.deepEqual(
            [row.postDate, row.postDatetime, row.supersedes],
            [null, null, undefined],
          )
          pending.set(row.id, row)
        } else {
          assert.equal(row.status, 'posted')
          assert.notEqual(row.postDate, null)
          posted.add(row.id)
        }
      }
    }
    assert.ok(
      replaced.size > 1 && replaced.size >= pending.size - 3,
      `${replaced.size} of ${pending.size}`,
    )
    assert.ok(posted.size > 0)
  })
}

test('R39: without the switch nothing changes, and each form is cached for itself', async () => {
  beginAnew()
  const { user, path } = await openPending('fiskil')
  const get = (query: string) => service.get(`${path}${query}`, user)
  const plain = await get('')
  assert.equal(plain.headers['x-cache'], 'MISS')
  for (const row of plain.body.data) {
    assert.equal(row.status, 'posted')
    assert.deepEqual(Object.keys(row), [
      'id',
      'accountId',
      'accountName',
      'status',
      'date',
      'datetime',
      'description',
      'amount',
      'direction',
      'category',
      'merchantName',
      'merchantCategoryCode',
    ])
  }
  const wide = await get('&includePending=true')
  assert.equal(wide.headers['x-cache'], 'MISS')
  assert.ok(wide.body.data.some(isPending))
  const again = await get('&includePending=true')
  assert.deepEqual([again.headers['x-cache'], again.text], ['HIT', wide.text])
  assert.equal((await get('&includePending=false')).text, plain.text)
  assert.equal((await get('')).text, plain.text)
})

test('R39: the switch is true or false, once', async () => {
  const { user, path } = await openPending('akahu')
  for (const query of ['', 'yes', 'TRUE', '1']) {
    const answer = await service.get(`${path}&includePending=${query}`, user)
    assert.deepEqual([answer.status, codeOf(answer)], [400, 'invalid_params'], query)
    assert.deepEqual(answer.body.error.details, ['includePending: must be true or false'])
  }
  const twice = await service.get(`${path}&includePending=true&includePending=true`, user)
  assert.equal(twice.status, 400)
})

test('R39: a walk in small windows shows pending and posted rows once each, in one order', async () => {
  beginAnew()
  for (const provider of ['fiskil', 'akahu', 'up', 'simplefin', 'enablebanking'] as const) {
    const bank = await openPending(provider)
    const whole = await bank.read()
    const walked: Row[] = []
    for (let offset = 0; ; ) {
      const answer = await service.get(
        `${bank.path}&includePending=true&limit=7&offset=${offset}`,
        bank.user,
      )
      walked.push(...answer.body.data)
      offset += answer.body.data.length
      if (!answer.body.pagination.hasMore) break
    }
    assert.deepEqual(
      walked.map(({ id }) => id),
      whole.map(({ id }) => id),
    )
  }
})

/** Reads again once nothing is cached any more. */
const later = () => clock.advance(hourMs)

test('R39: of two equal pending rows that are posted in one interval nothing is said', async () => {
  beginAnew()
  const bank = await makeBankUser(service, { provider: 'akahu', name: 'Rainy Day' })
  const from = new Date(clock.now() - hourMs).toISOString()
  const twin = (id: string) =>
    akahuRow(id, new Date(clock.now() + hourMs / 2).toISOString(), {
      seenFrom: from,
      description: 'MOJO COFFEE',
      amount: '-4.5',
    })
  plantAkahu(service, 'Rainy Day', [twin('one'), twin('two')])
  const read = async (): Promise<readonly Row[]> => {
    const { body } = await bank.ask('&includePending=true')
    return body.data.filter(({ description }: Row) => description === 'MOJO COFFEE')
  }
  const first = await read()
  assert.deepEqual(
    first.map(({ status }) => status),
    ['pending', 'pending'],
  )
  assert.notEqual(first[0]?.id, first[1]?.id)
  for (let times = 0; times < 3; times += 1) {
    later()
    const rows = await read()
    assert.deepEqual(
      rows.map(({ status, supersedes }) => [status, supersedes]),
      [
        ['posted', undefined],
        ['posted', undefined],
      ],
    )
  }
})

test('R39: an equal row that was there before, or a hold that ended, is no replacement', async () => {
  beginAnew()
  const bank = await makeBankUser(service, { provider: 'fiskil', name: 'Joint Account' })
  const coffee = { description: 'SECOND CRACK COFFEE', amount: '-4.50' }
  const [old] = [fiskilRow('old', new Date(clock.now() - 25 * hourMs).toISOString(), coffee)]
  const hold = { ...fiskilRow('hold', '2040-01-01T00:00:00Z', coffee), seenFromMs: 0 }
  assert.ok(old !== undefined)
  plantFiskil(service, 'Joint Account', [hold, old])
  const read = async (): Promise<readonly Row[]> =>
    (await bank.ask('&includePending=true')).body.data
  assert.deepEqual(
    (await read()).map(({ status }) => status),
    ['pending', 'posted'],
  )
  plantFiskil(service, 'Joint Account', [old])
  later()
  const [left, ...others] = await read()
  assert.deepEqual([left?.id, left?.supersedes, others.length], ['old', undefined, 0])
})

test('R39: a fuel hold is replaced by the row of another amount, and a window in the past has no pending rows', async () => {
  beginAnew()
  const bank = await makeBankUser(service, { provider: 'fiskil', name: 'Joint Account' })
  const fuel = { description: 'AMPOL COBURG', merchant_category_code: '5542' }
  const postsAt = new Date(clock.now() + hourMs / 2).toISOString()
  const hold = (id: string, amount: string, at: string) => fiskilRow(id, at, { ...fuel, amount })
  plantFiskil(service, 'Joint Account', [hold('fuel', '-1.00', postsAt)])
  const read = async (query = ''): Promise<readonly Row[]> =>
    (await bank.ask(`&includePending=true${query}`)).body.data
  const [pending] = await read()
  assert.equal(pending?.status, 'pending')
  assert.equal(pending.date, new Date(clock.now()).toISOString().slice(0, 10))
  assert.deepEqual(await read('&from=2026-11-01&to=2026-11-03'), [])
  plantFiskil(service, 'Joint Account', [hold('filled', '-63.20', postsAt)])
  later()
  const [posted] = await read()
  assert.deepEqual([posted?.id, posted?.supersedes], ['filled', pending.id])
})

test('R39: agents read the same with their tool', async () => {
  beginAnew()
  const { user, read } = await openPending('up')
  const rows = await read()
  // A page of an agent ends earlier.
  const answer = (await callTool(user, rows)) as readonly Row[]
  assert.ok(answer.some(isPending) && answer.some(({ supersedes }) => supersedes !== undefined))
  assert.deepEqual(answer, rows.slice(0, answer.length))
})

async function callTool(user: ServiceUser, rows: readonly Row[]): Promise<unknown> {
  const [account] = await service.accounts(user)
  const response = await fetch(`${service.baseUrl}/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${user.key}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: {
        name: 'list_transactions',
        arguments: {
          connectionId: account?.connectionId,
          accountId: account?.id,
          includePending: true,
          limit: Math.max(1, rows.length),
        },
      },
    }),
  })
  const text = await response.text()
  const json = text.startsWith('{') ? text : (text.match(/^data: (.*)$/m)?.[1] ?? '')
  return JSON.parse(json).result.structuredContent.data
}
