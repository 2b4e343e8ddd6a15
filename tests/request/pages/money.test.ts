/**
 * The pages of money: read live after a press, the same values as REST, every failure named, nothing of
 * another person, and files that are whole or not there.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { request } from 'undici'
import { byOperator } from '#contract/actor.ts'
import { type KeyId, newId } from '#kernel/ids.ts'
import type { Jar } from '#tests/support/jar.ts'
import { type Person, startPages } from './world.ts'

const world = await startPages()
after(() => world.close())

const down = { does: { kind: 'reply', reply: { status: 500 } } } as const

interface Owner {
  readonly person: Person
  readonly jar: Jar
  /** A GET of REST with a key of this person. */
  read(path: string): Promise<{ readonly data: readonly Record<string, string | null>[] }>
}

async function settle(): Promise<Owner> {
  const person = await world.addPerson()
  await world.service.link({ id: person.id, key: '', keyId: newId<KeyId>() }, 'healthy')
  const { key } = await world.service.app.actions.createKey(byOperator, person.id, {})
  const jar = await world.enter(person)
  return {
    person,
    jar,
    async read(path) {
      const headers = { authorization: `Bearer ${key}` }
      const answer = await request(`${world.service.baseUrl}${path}`, { headers })
      assert.equal(answer.statusCode, 200)
      return (await answer.body.json()) as Awaited<ReturnType<Owner['read']>>
    },
  }
}

const amountsOf = (text: string) =>
  [...text.matchAll(/<data class="amount" value="([^"]*)">/g)].map(([, value]) => value ?? '')

async function accountOf({ person }: Owner, provider: string) {
  const accounts = await world.service.app.store.accounts.list(person.id)
  return accounts.find((account) => account.provider === provider) ?? assert.fail(provider)
}

test('303: a visitor is sent to the sign-in and back', async () => {
  assert.equal((await world.jar().get('/money')).location, '/sign-in?return=%2Fmoney')
})

test('nothing is read before the press, nor for a browser that fetches ahead', async () => {
  const owner = await settle()
  const { fiskil } = world.service.sandbox
  const count = fiskil.requests.length
  const account = await accountOf(owner, 'fiskil')
  for (const path of ['/money', `/money/${account.id}`]) {
    const page = await owner.jar.get(path)
    assert.equal(page.status, 200)
    assert.deepEqual(amountsOf(page.text), [])
  }
  const ahead = await owner.jar.get('/money?show=1', { 'sec-purpose': 'prefetch;prerender' })
  assert.deepEqual(amountsOf(ahead.text), [])
  assert.equal(fiskil.requests.length, count)
})

test('after the press the balances are those of REST, and the page is stored by nobody', async () => {
  const owner = await settle()
  const page = await owner.jar.get('/money?show=1')
  assert.equal(page.headers['cache-control'], 'no-store')
  const { id } = await accountOf(owner, 'fiskil')
  const { data } = await owner.read(`/v1/balances?accountIds=${id}`)
  assert.ok(data.length > 0)
  const shown = amountsOf(page.text)
  for (const { currentBalance } of data) {
    if (currentBalance != null) assert.ok(shown.includes(currentBalance), currentBalance)
  }
  assert.match(page.text, /curl -s -H &quot;Authorization: Bearer \$TRIBUTARY_API_KEY&quot;/)
  assert.match(page.text, /role="switch" id="hide"/)
})

test('these reads are counted as those of the person, and use up nothing of a key', async () => {
  const owner = await settle()
  const { id, connectionId } = await accountOf(owner, 'fiskil')
  const left = async () => {
    const { key } = await world.service.app.actions.createKey(byOperator, owner.person.id, {})
    const path = `/v1/transactions?connectionId=${connectionId}&accountId=${id}`
    const headers = { authorization: `Bearer ${key}` }
    const answer = await request(`${world.service.baseUrl}${path}`, { headers })
    await answer.body.dump()
    return answer.headers['x-ratelimit-remaining']
  }
  const before = await left()
  for (let reads = 0; reads < 3; reads += 1) await owner.jar.get(`/money/${id}?show=1`)
  assert.equal(await left(), before)
  const { text } = await owner.jar.get('/usage')
  assert.match(text, /data-label="Client">[^<]*(?:dashboard|pages|you)/i)
})

test('after the sign-out the address leads to the sign-in', async () => {
  const owner = await settle()
  assert.equal((await owner.jar.get('/money?show=1')).status, 200)
  const { hidden: form } = await owner.jar.get('/settings')
  await owner.jar.post('/sign-out', form)
  const answer = await owner.jar.get('/money?show=1')
  assert.equal(answer.location, `/sign-in?return=${encodeURIComponent('/money?show=1')}`)
})

test('the rows of an account are those of REST in the same order, and a filter leaves what fits', async () => {
  const owner = await settle()
  const { id, connectionId } = await accountOf(owner, 'fiskil')
  const { data } = await owner.read(
    `/v1/transactions?connectionId=${connectionId}&accountId=${id}&limit=200`,
  )
  assert.ok(data.length > 1)
  const { text } = await owner.jar.get(`/money/${id}?show=1`)
  const table = text.slice(text.indexOf('aria-label="Transactions"'))
  assert.deepEqual(
    amountsOf(table),
    data.map(({ amount }) => amount),
  )
  const out = await owner.jar.get(`/money/${id}?show=1&flow=out`)
  const negative = amountsOf(out.text.slice(out.text.indexOf('aria-label="Transactions"')))
  assert.deepEqual(
    negative,
    data.map(({ amount }) => amount ?? '').filter((amount) => amount.startsWith('-')),
  )
})

test('an account of somebody else, and nonsense, do not exist', async () => {
  const [owner, other] = [await settle(), await settle()]
  const { id } = await accountOf(other, 'fiskil')
  for (const account of [id, 'x', newId()]) {
    for (const path of [`/money/${account}?show=1`, `/money/${account}/download?format=csv`]) {
      const { status, text } = await owner.jar.get(path)
      assert.equal(status, 404)
      assert.match(text, /There is no such account/)
    }
  }
})

test('a bank that cannot be read is named at its accounts, is in no sum, and never looks like zero', async () => {
  const owner = await settle()
  world.service.sandbox.fiskil.addFault(down)
  try {
    const { status, text } = await owner.jar.get('/money?show=1')
    assert.equal(status, 200)
    assert.match(text, /<strong>Not whole\.<\/strong>/)
    assert.match(text, /<strong>Not known\.<\/strong>/)
    const { id } = await accountOf(owner, 'fiskil')
    const file = await owner.jar.get(`/money/${id}/download?format=json`)
    assert.ok(file.status >= 500)
    assert.match(file.text, /Nothing was downloaded/)
  } finally {
    world.service.sandbox.fiskil.clearFaults()
  }
})

test('a file has every row that REST has, and is a file for the browser', async () => {
  const owner = await settle()
  const { id, connectionId } = await accountOf(owner, 'fiskil')
  const { data } = await owner.read(
    `/v1/transactions?connectionId=${connectionId}&accountId=${id}&limit=500`,
  )
  const cookie = [...owner.jar.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const answer = await request(`${world.service.baseUrl}/money/${id}/download?format=csv`, {
    headers: { cookie },
  })
  const text = await answer.body.text()
  assert.equal(answer.statusCode, 200)
  assert.match(String(answer.headers['content-type']), /^text\/csv/)
  assert.match(String(answer.headers['content-disposition']), /^attachment; filename="tributary_/)
  assert.equal(answer.headers['cache-control'], 'no-store')
  for (const { id: row } of data) assert.ok(text.includes(`${row}`), `${row}`)
})

test('a file of days that cannot be read is refused, never one of other days', async () => {
  const owner = await settle()
  const { id } = await accountOf(owner, 'fiskil')
  const path = `/money/${id}/download?format=csv`
  for (const days of [
    'from=2026-02-30',
    'to=yesterday',
    'from=20261001',
    'to=2026-1-1&to=2026-1-2',
  ]) {
    const { status, text } = await owner.jar.get(`${path}&${days}`)
    assert.equal(status, 400, days)
    assert.match(text, /Invalid date parameters; (?:from|to): .*Nothing was downloaded/s)
  }
  assert.equal((await owner.jar.get(`${path}&from=&to=`)).status, 200)
})

test('holdings and trades of a broker are those of REST', async () => {
  const owner = await settle()
  const { id, connectionId } = await accountOf(owner, 'snaptrade')
  const { data } = await owner.read(`/v1/holdings?connectionId=${connectionId}&accountId=${id}`)
  const { text } = await owner.jar.get(`/money/${id}?show=1`)
  const shown = amountsOf(text)
  assert.ok(data.length > 0)
  for (const { quantity } of data) assert.ok(shown.includes(quantity ?? ''), `${quantity}`)
  assert.match(text, /<h2>Trades<\/h2>/)
})

test('rows of a month from before what a bank gives are not called all of that time', async () => {
  // The calls of a day may be used up: others here are linked with the same accounts.
  world.service.clock.advance(25 * 3_600_000)
  const owner = await settle()
  const { id } = await accountOf(owner, 'enablebanking')
  const { text } = await owner.jar.get(`/money/${id}?month=2026-01&show=1`)
  assert.match(text, /all that is given of that time: a bank mostly gives rows of the last 90 days/)
  assert.doesNotMatch(text, /These are all of that time/)
})
