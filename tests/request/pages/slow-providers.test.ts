/**
 * Providers that answer each request only after seconds: a person's page comes after a moment, the work goes
 * on behind it, and all requests of one action share the time of one (`REQUEST_TIMEOUT_MS`).
 */
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ConnectionId } from '#kernel/ids.ts'
import { institutions } from '#sandbox/akahu/factories.ts'
import type { Store } from '#store/ports/store.ts'
import type { Jar, PageAnswer } from '#tests/support/jar.ts'
import { type Person, startPages } from './world.ts'

/** Longer than a moment, so that no page waits for a whole request. */
const callMs = 2500
const actionMs = 9000
/** A moment is two seconds; the rest is for a busy machine. */
const soonMs = 3800

/** A service of its own for each test: they run at once, because all of them wait. */
async function open(t: TestContext) {
  const world = await startPages({
    env: { UPSTREAM_TIMEOUT_MS: '8000', REQUEST_TIMEOUT_MS: String(actionMs) },
  })
  const { sandbox, app, clock } = world.service
  t.after(async () => {
    for (const emulator of [sandbox.fiskil, sandbox.akahu, sandbox.up]) emulator.clearFaults()
    await world.close()
  })
  return {
    ...{ ...sandbox, clock, store: app.store },
    rowsOf: ({ id }: Person) => app.store.connections.list(id),
    async visit() {
      const person = await world.addPerson()
      return { person, jar: await world.enter(person) }
    },
  }
}

const slow = { does: { kind: 'delay', ms: callMs } } as const
const newPath = '/connections/new'

/** Chooses a bank and agrees to it on the provider's page; the path of the return. */
async function agree(
  jar: Jar,
  provider: 'fiskil' | 'akahu',
  institution: string,
  fields: Readonly<Record<string, string>>,
): Promise<string> {
  const page = await jar.get(`${newPath}?provider=${provider}`)
  const begun = await jar.post(newPath, { ...page.hidden, provider, institution })
  const address = new URL(begun.location ?? assert.fail(begun.text))
  const body = new URLSearchParams([...address.searchParams])
  for (const [name, value] of Object.entries({ decision: 'allow', ...fields }))
    body.set(name, value)
  const target = provider === 'akahu' ? address.origin + address.pathname : address
  const decided = await fetch(target, { method: 'POST', body, redirect: 'manual' })
  const back = new URL(decided.headers.get('location') ?? assert.fail())
  return back.pathname + back.search
}

const agreeAtAkahu = (jar: Jar) =>
  agree(jar, 'akahu', institutions.asb._id, { bank: institutions.asb._id })

const mainOf = (text: string) => text.slice(text.indexOf('<main'))

async function inTime(work: Promise<PageAnswer>): Promise<PageAnswer> {
  const from = performance.now()
  const answer = await work
  const tookMs = performance.now() - from
  assert.ok(tookMs < soonMs, `${Math.round(tookMs)} ms`)
  return answer
}

/** Reads the page as a browser does until it is another one; how long that took. */
async function watch(
  jar: Jar,
  path: string,
  isSame: (page: PageAnswer) => boolean,
): Promise<{ readonly page: PageAnswer; readonly tookMs: number }> {
  const from = performance.now()
  for (let looks = 0; looks < 60; looks += 1) {
    const page = await inTime(jar.get(path))
    if (!isSame(page)) return { page, tookMs: performance.now() - from }
    await sleep(250)
  }
  return assert.fail('it stayed the same')
}

/** Ends a run of the connection's sync: the next one is due in an hour. */
async function endSync({ syncs }: Store, id: ConnectionId, now: number): Promise<void> {
  const claimed = await syncs.claim(id, { now, leaseMs: 60_000, reason: 'operator' })
  assert(claimed?.kind === 'claimed')
  const outcome = {
    kind: 'succeeded',
    ...{ newCount: 0, updatedCount: 0, chunks: 0, rowsReadAt: null, ledgerFrom: null },
  } as const
  await syncs.finish(claimed.sync.runId, { outcome, endedAt: now, nextDueAt: now + 3_600_000 })
}

/** Within the time of one action. */
async function comesTrue(isTrue: () => Promise<boolean>): Promise<void> {
  const until = performance.now() + actionMs + 1500
  while (!(await isTrue())) {
    assert.ok(performance.now() < until)
    await sleep(100)
  }
}

const healthyUp = 'up:yeah:sandbox-healthy00000000000000000'

async function paste(jar: Jar, path: string, fields: Readonly<Record<string, string>>) {
  const { hidden } = await jar.get(path)
  return inTime(jar.post(path.split('?')[0] ?? '', { ...hidden, ...fields }))
}

describe('providers that take seconds', { concurrency: true }, () => {
  test('F2: a return is answered before the provider has answered once, and its page leads to the connection', async (t) => {
    const { visit, rowsOf, fiskil, store } = await open(t)
    const { person, jar } = await visit()
    const back = await agree(jar, 'fiskil', '41', {})
    fiskil.addFault(slow)
    const waiting = (await inTime(jar.get(back))).location ?? ''
    assert.match(waiting, /^\/connections\/waiting\//)
    assert.equal((await inTime(jar.get(back))).location, waiting)
    const before = fiskil.requests.length
    const { page } = await watch(jar, waiting, ({ status }) => status === 200)
    const [row] = await rowsOf(person)
    assert.equal(page.location, `/connections/${row?.id}?done=linked`)
    // However often the page looked, the consents were read once.
    const lists = fiskil.requests.slice(before).filter(({ path }) => path === '/v1/consent')
    assert.ok(lists.length <= 1)
    // The end at the provider takes as long, and the person does not wait for it.
    const { hidden } = await jar.get(`/connections/${row?.id}/remove`)
    const fields = { ...hidden, decision: 'confirm' }
    const removed = await inTime(jar.post(`/connections/${row?.id}/remove`, fields))
    assert.equal(removed.location, '/connections?done=leaving')
    const list = await jar.get(removed.location ?? '')
    assert.match(
      list.text,
      /role="status">The connection is removed here: .* tried again by itself/,
    )
    await comesTrue(
      async () => row !== undefined && (await store.connections.find(row.id)) === null,
    )
    fiskil.clearFaults()
  })

  test('all requests of a return together take no longer than one request may, and nothing of the consent is lost', async (t) => {
    const { visit, rowsOf, akahu } = await open(t)
    const { person, jar } = await visit()
    const back = await agreeAtAkahu(jar)
    akahu.addFault({ does: { kind: 'delay', ms: 4000 } })
    const waiting = (await inTime(jar.get(back))).location ?? ''
    // The code is exchanged, the person asked for, and the time is over before the accounts have come.
    const isOnTheWay = ({ text }: PageAnswer) => text.includes('Your accounts are on their way')
    const { page, tookMs } = await watch(jar, waiting, isOnTheWay)
    assert.match(page.text, /Consent saved, waiting for Akahu/)
    assert.ok(tookMs < actionMs + callMs, `${Math.round(tookMs)} ms`)
    akahu.clearFaults()
    await watch(jar, waiting, ({ status }) => status === 200)
    assert.equal((await rowsOf(person)).length, 1)
  })

  test('a code that the provider never exchanges ends with words that stay after a reload', async (t) => {
    const { visit, rowsOf, akahu } = await open(t)
    const { person, jar } = await visit()
    const back = await agreeAtAkahu(jar)
    akahu.addFault({ does: { kind: 'hang' } })
    const waiting = (await inTime(jar.get(back))).location ?? ''
    const { page } = await watch(jar, waiting, ({ status }) => status === 200)
    akahu.clearFaults()
    assert.deepEqual([page.status, /It did not work this time/.test(page.text)], [503, true])
    const again = await Promise.all([waiting, back].map((path) => jar.get(path)))
    for (const { text } of again) assert.equal(mainOf(text), mainOf(page.text))
    assert.deepEqual(await rowsOf(person), [])
  })

  test('a process that ended while it read a return leaves a page that says so', async (t) => {
    const { visit, rowsOf, store, clock } = await open(t)
    const { jar, person } = await visit()
    const back = await agreeAtAkahu(jar)
    const state = new URLSearchParams(back.split('?')[1]).get('state') ?? ''
    const id = new Uint8Array(await crypto.subtle.digest('SHA-256', Buffer.from(state)))
    const row = (await store.linkings.find(id)) ?? assert.fail('no such link')
    const at = clock.now()
    assert.ok(await store.linkings.claim(id, { sessionId: row.sessionId, at }))
    const waiting = (await jar.get(back)).location ?? ''
    assert.match((await jar.get(waiting)).text, /on their way/)
    clock.advance(2 * actionMs + 1)
    const end = await jar.get(waiting)
    assert.equal(end.status, 503)
    assert.match(end.text, /<h1>Linking was interrupted<\/h1>/)
    assert.match(end.text, /Start again, and agree at Akahu once more/)
    assert.deepEqual(await rowsOf(person), [])
  })

  test('F2: a refresh is answered at once, says that it goes on, and requests the sync that tells what came of it', async (t) => {
    const { visit, rowsOf, fiskil, store, clock } = await open(t)
    const { person, jar } = await visit()
    await jar.get(await agree(jar, 'fiskil', '22', {}))
    const [row] = await rowsOf(person)
    assert(row !== undefined)
    const path = `/connections/${row.id}`
    const refresh = async () => {
      clock.advance(61_000)
      const page = await jar.get(path)
      return inTime(jar.post(`${path}/refresh`, page.hidden))
    }
    for (const does of [slow.does, { kind: 'hang' } as const]) {
      await endSync(store, row.id, clock.now())
      fiskil.addFault({ does })
      const answer = await refresh()
      assert.equal(answer.location, `${path}?done=asked`)
      const page = await jar.get(answer.location ?? '')
      assert.match(page.text, /role="status">Its provider takes long to answer/)
      assert.equal(page.headers.refresh, `4; url=${path}?done=asked&look=1`)
      const at = clock.now()
      await comesTrue(async () => {
        const [state] = await store.syncs.listStates(person.id)
        return state?.nextAt === at
      })
      fiskil.clearFaults()
    }
  })

  test('a pasted key is answered before the provider has answered once, and its page leads to the connection', async (t) => {
    const { visit, rowsOf, up } = await open(t)
    const { person, jar } = await visit()
    up.addFault(slow)
    const pasted = await paste(jar, `${newPath}?provider=up`, { upToken: healthyUp })
    assert.match(pasted.location ?? '', /^\/connections\/waiting\//)
    const waiting = pasted.location ?? ''
    assert.match((await jar.get(waiting)).text, /Up is fetching your accounts/)
    const { page } = await watch(jar, waiting, ({ status }) => status === 200)
    const [row] = await rowsOf(person)
    assert.equal(page.location, `/connections/${row?.id}?done=linked`)
    // Nobody else sees what became of it.
    const other = await visit()
    assert.equal((await other.jar.get(waiting)).location, '/connections')
    // A new key for the same connection, the same way.
    const renewed = await paste(jar, `/connections/${row?.id}/reconnect`, { upToken: healthyUp })
    const again = await watch(jar, renewed.location ?? '', ({ status }) => status === 200)
    assert.equal(again.page.location, `/connections/${row?.id}?done=reconnected`)
    assert.equal((await rowsOf(person)).length, 1)
  })

  test('a pasted key that is refused after the moment, or never answered, says so on its page and links nothing', async (t) => {
    const { visit, rowsOf, up } = await open(t)
    const { person, jar } = await visit()
    up.addFault(slow)
    const refused = await paste(jar, `${newPath}?provider=up`, {
      upToken: 'up:yeah:nobody000000000000000000000',
    })
    const { page } = await watch(jar, refused.location ?? '', ({ text }) => /fetching/.test(text))
    assert.match(mainOf(page.text), /Nothing was linked[\s\S]*Up does not accept the key/)
    assert.match(mainOf(page.text), /href="\/connections\/new\?provider=up"/)
    up.clearFaults()
    up.addFault({ does: { kind: 'delay', ms: 6000 } })
    const silent = await paste(jar, `${newPath}?provider=up`, { upToken: healthyUp })
    const ended = await watch(jar, silent.location ?? '', ({ text }) => /fetching/.test(text))
    assert.ok(ended.tookMs < actionMs + 1500, `${ended.tookMs}`)
    assert.match(mainOf(ended.page.text), /It did not work this time/)
    assert.deepEqual(await rowsOf(person), [])
  })

  test('neither a new link, nor Reconnect, nor the deletion of the account waits for refreshes that go on', async (t) => {
    const { visit, rowsOf, fiskil, store } = await open(t)
    const { person, jar } = await visit()
    for (const bank of ['22', '41']) await jar.get(await agree(jar, 'fiskil', bank, {}))
    const rows = await rowsOf(person)
    assert.equal(rows.length, 2)
    const isList = { when: ({ path }: { readonly path: string }) => path === '/v1/consent' }
    fiskil.addFault({ does: { kind: 'hang' }, ...isList })
    const begun = performance.now()
    for (const { id } of rows) {
      const { hidden } = await jar.get(`/connections/${id}`)
      const { location } = await inTime(jar.post(`/connections/${id}/refresh`, hidden))
      assert.equal(location, `/connections/${id}?done=asked`)
    }
    fiskil.addFault({ ...slow, when: ({ path }) => path === '/v1/auth/session' })
    const { hidden } = await jar.get('/settings')
    // Nor do several of them wait for each other.
    const reconnect = ({ id }: { readonly id: ConnectionId }) =>
      inTime(jar.post(`/connections/${id}/reconnect`, hidden))
    for (const { location } of await Promise.all(rows.map(reconnect)))
      assert.match(location ?? '', /sess_id=/)
    const choice = await jar.get(`${newPath}?provider=akahu`)
    const fields = { ...choice.hidden, provider: 'akahu', institution: institutions.asb._id }
    const linked = await inTime(jar.post(newPath, fields))
    assert.match(linked.location ?? '', /authorize/)
    const confirmed = { ...hidden, decision: 'confirm', email: person.email }
    const deleted = await inTime(jar.post('/settings/delete', confirmed))
    assert.equal(deleted.location, '/deleted')
    assert.equal(await store.users.find(person.id, { deleting: true }), null)
    assert.ok(performance.now() - begun < 2 * actionMs, 'the refreshes go on')
    fiskil.clearFaults()
  })

  test('a link that begins while the last connection there is being ended does not go to its login', async (t) => {
    const { visit, rowsOf, fiskil } = await open(t)
    const { person, jar } = await visit()
    await jar.get(await agree(jar, 'fiskil', '22', {}))
    const [row] = await rowsOf(person)
    const path = `/connections/${row?.id}/remove`
    const { hidden } = await jar.get(path)
    fiskil.addFault({ ...slow, when: ({ method }) => method === 'DELETE' })
    const removed = await inTime(jar.post(path, { ...hidden, decision: 'confirm' }))
    assert.equal(removed.location, '/connections?done=leaving')
    const linked = await jar.get(await agree(jar, 'fiskil', '41', {}))
    const [other, ...more] = await rowsOf(person)
    assert.equal(linked.location, `/connections/${other?.id}?done=linked`)
    assert.deepEqual([other?.institutionId, other?.status, more], ['41', 'active', []])
    fiskil.clearFaults()
  })

  test('a link whose turn does not come behind removals says what it waited for, and begins nothing', async (t) => {
    const { visit, rowsOf, fiskil } = await open(t)
    const { person, jar } = await visit()
    for (const bank of ['22', '41']) await jar.get(await agree(jar, 'fiskil', bank, {}))
    const choice = await jar.get(`${newPath}?provider=fiskil`)
    fiskil.addFault({ does: { kind: 'hang' }, when: ({ method }) => method === 'DELETE' })
    for (const { id } of await rowsOf(person)) {
      const { hidden } = await jar.get(`/connections/${id}/remove`)
      await inTime(jar.post(`/connections/${id}/remove`, { ...hidden, decision: 'confirm' }))
    }
    const fields = { ...choice.hidden, provider: 'fiskil', institution: '22' }
    const page = await jar.post(newPath, fields)
    assert.equal(page.status, 503)
    assert.match(mainOf(page.text), /An earlier link or removal at \S+ is still in progress/)
    fiskil.clearFaults()
  })
})
