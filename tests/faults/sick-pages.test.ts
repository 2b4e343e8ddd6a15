/**
 * Lists of many pages that come wrong: rows twice, pages that overlap or go round in a circle, a page in the
 * middle that never comes whole. Whoever walks gets each row once or a refusal, never a gap.
 */
import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import type { Provider } from '#contract/resources.ts'
import type { Emulator, EmulatorReply, EmulatorRequest, Misbehaviour } from '#sandbox/emulator.ts'
import { codeOf, type Service, type ServiceUser, startService } from '#tests/support/service.ts'

interface Source {
  readonly name: Provider
  readonly emulator: Emulator
  /** The connection's rows up to a day that is over; `query` begins with "&". */
  readonly path: (query: string) => string
  readonly isPage: (request: EmulatorRequest) => boolean
  readonly isLater: (request: EmulatorRequest) => boolean
  /** The name of the list in the body. */
  readonly list: string
  /** The part of the body that leads to the next page. */
  readonly lead: string
}

let service: Service
let user: ServiceUser
let sources: readonly Source[]
before(async () => {
  service = await startService({ env: { UPSTREAM_TIMEOUT_MS: '3000' } })
  user = await service.createUser()
  const rows = await service.link(user, 'history')
  const { fiskil, akahu, snaptrade, up } = service.sandbox
  const pathOf = (provider: Provider) => {
    const connection = rows.find((row) => row.provider === provider)
    const noun = provider === 'snaptrade' ? 'trades' : 'transactions'
    return (query: string) => `/v1/${noun}?connectionId=${connection?.id}${query}&to=2026-11-01`
  }
  const page = (pattern: RegExp) => (request: EmulatorRequest) => pattern.test(request.path)
  sources = [
    {
      name: 'fiskil',
      emulator: fiskil,
      path: pathOf('fiskil'),
      isPage: page(/\/banking\/transactions$/),
      isLater: ({ query }) => query.has('page[after]'),
      list: 'transactions',
      lead: 'links',
    },
    {
      name: 'akahu',
      emulator: akahu,
      path: pathOf('akahu'),
      isPage: page(/\/transactions$/),
      isLater: ({ query }) => query.has('cursor'),
      list: 'items',
      lead: 'cursor',
    },
    {
      name: 'up',
      emulator: up,
      path: pathOf('up'),
      isPage: page(/\/transactions$/),
      isLater: ({ query }) => query.has('page[after]'),
      list: 'data',
      lead: 'links',
    },
    {
      name: 'snaptrade',
      emulator: snaptrade,
      path: pathOf('snaptrade'),
      isPage: page(/\/activities$/),
      isLater: ({ query }) => query.get('offset') !== '0',
      list: 'data',
      lead: 'pagination',
    },
  ]
})
afterEach(mend)
after(() => service?.close())

/** Mends the emulators; what was cached, walked and counted before is over. */
function mend(): void {
  for (const { emulator } of sources) emulator.clearFaults()
  service.clock.advance(3_800_000)
}

const from = '&from=2025-06-01'

function sick(source: Source, does: Misbehaviour, options: { later?: true; times?: number } = {}) {
  const { later, times } = options
  source.emulator.addFault({
    when: (request) => source.isPage(request) && (later !== true || source.isLater(request)),
    does,
    ...(times === undefined ? {} : { times }),
  })
}

const countPages = (source: Source) => source.emulator.requests.filter(source.isPage).length

type Body = Record<string, unknown>

/** Changes the list and the lead of a page. */
function edit(source: Source, change: (rows: unknown[], lead: unknown) => [unknown[], unknown]) {
  return {
    kind: 'edit',
    edit(reply: EmulatorReply): EmulatorReply {
      // Numbers of the emulators may be raw text: once through JSON they are what a client sees.
      const body = JSON.parse(JSON.stringify(reply.body)) as Body
      const [rows, lead] = change(body[source.list] as unknown[], body[source.lead])
      return { ...reply, body: { ...body, [source.list]: rows, [source.lead]: lead } }
    },
  } as const
}

/** Ids of the first 2,000 rows or fewer, in their order. */
async function listIds(source: Source): Promise<string[]> {
  const ids: string[] = []
  for (let offset = 0; offset < 2000; offset += 500) {
    const answer = await service.get(source.path(`${from}&limit=500&offset=${offset}`), user)
    assert.equal(answer.status, 200, `${source.name}: ${answer.text}`)
    ids.push(...answer.body.data.map((row: { id: string }) => row.id))
    if (answer.body.pagination.hasMore !== true) break
  }
  return ids
}

/** What a source shows while nothing is wrong; the rows of the days that are over stay as they are. */
const wholes = new Map<Source, readonly string[]>()

async function listWhole(source: Source): Promise<readonly string[]> {
  const ids = wholes.get(source) ?? (await listIds(source))
  wholes.set(source, ids)
  mend()
  return ids
}

test('rows that come twice on one page, and pages that overlap by all of their rows, are shown once', async () => {
  // Pages by number cannot grow: a row that comes twice there is one that shifted
  // (list-trades/windows.test.ts).
  for (const source of sources.filter(({ name }) => name !== 'snaptrade')) {
    const whole = await listWhole(source)
    assert.ok(whole.length > 100, source.name)
    const twice = edit(source, (rows, lead) => [rows.flatMap((row) => [row, row]), lead])
    sick(source, twice)
    assert.deepEqual(await listIds(source), whole, `${source.name}: twice`)
    mend()
    let earlier: unknown[] = []
    const overlap = edit(source, (rows, lead) => {
      const shown = [...earlier, ...rows]
      earlier = rows
      return [shown, lead]
    })
    sick(source, overlap)
    assert.deepEqual(await listIds(source), whole, `${source.name}: overlapping`)
    mend()
  }
})

for (const length of [1, 2, 3]) {
  test(`cursors in a cycle of ${length} are 503 after a few pages, and one failure`, async () => {
    for (const source of sources.filter(({ name }) => name !== 'snaptrade')) {
      const leads: unknown[] = []
      const circle = edit(source, (rows, lead) => {
        leads.push(lead)
        return [rows, leads.length > length ? leads[(leads.length - 1) % length] : lead]
      })
      sick(source, circle)
      const before = countPages(source)
      const answer = await service.get(source.path(from), user)
      assert.deepEqual([answer.status, codeOf(answer)], [503, undefined], source.name)
      assert.equal(answer.headers['retry-after'], '30', source.name)
      const asked = countPages(source) - before
      assert.ok(asked <= 3 * length + 3, `${source.name}: ${asked} pages`)
    }
  })
}

test('a broker with a false total that repeats one page for ever is called a bounded number of times', async () => {
  const source = sources.find(({ name }) => name === 'snaptrade')
  assert(source !== undefined)
  const first: { rows: unknown[] | null } = { rows: null }
  const same = edit(source, (rows, lead) => {
    first.rows ??= rows
    return [first.rows, { ...(lead as object), total: 1_000_000_000 }]
  })
  sick(source, same)
  const before = countPages(source)
  const answer = await service.get(source.path(from), user)
  assert.equal(answer.status, 503, answer.text.slice(0, 200))
  assert.ok(countPages(source) - before <= 200, 'no more than a minute of our own budget')
})

const breakages: readonly (readonly [string, Misbehaviour])[] = [
  ['a reset in its middle', { kind: 'truncate', afterBytes: 2000 }],
  ['a 500', { kind: 'reply', reply: { status: 500, body: {} } }],
  ['a 429', { kind: 'reply', reply: { status: 429, headers: { 'retry-after': '9' }, body: {} } }],
  ['no JSON', { kind: 'reply', reply: { status: 200, body: '<html>' } }],
]
for (const [name, does] of breakages) {
  test(`R17, R20: a later page with ${name} fails the request, and the next one has no gap`, async () => {
    for (const source of sources) {
      const whole = await listWhole(source)
      sick(source, does, { later: true, times: 1 })
      const path = source.path(`${from}&limit=500`)
      const answer = await service.get(path, user)
      assert.deepEqual([answer.status, codeOf(answer)], [503, undefined], source.name)
      assert.equal(answer.headers['retry-after'], name === 'a 429' ? '9' : '30', source.name)
      assert.equal(answer.headers['x-cache'], 'MISS')
      assert.deepEqual(await listIds(source), whole, source.name)
      mend()
    }
  })
}

test('R19: after a reset in the middle the pages that came whole are not asked for again', async () => {
  for (const source of sources.filter(({ name }) => name !== 'snaptrade')) {
    sick(source, { kind: 'truncate', afterBytes: 2000 }, { later: true, times: 1 })
    assert.equal((await service.get(source.path(`${from}&limit=500`), user)).status, 503)
    const before = source.emulator.requests.filter((request) => {
      return source.isPage(request) && !source.isLater(request)
    }).length
    await listIds(source)
    const firsts = source.emulator.requests.filter((request) => {
      return source.isPage(request) && !source.isLater(request)
    }).length
    assert.equal(firsts, before, source.name)
  }
})
