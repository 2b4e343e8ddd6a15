/**
 * The page of a plan, and where plans are spoken of: nowhere on an install that sells none, unless a person
 * has a smaller one.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { operations } from '#contract/operations.ts'
import { askForConsent, type PagesWorld, startPages } from './world.ts'

const world = await startPages()
const shop = await startPages({ env: { DEFAULT_PLAN: 'none' } })
after(async () => {
  await world.close()
  await shop.close()
})

type Plan = Parameters<PagesWorld['addPerson']>[0]

async function read(at: PagesWorld, plan: Plan, path = '/plan'): Promise<string> {
  const { status, text } = await (await at.enter(await at.addPerson(plan))).get(path)
  assert.equal(status, 200)
  return text
}

/** The texts of the list below this heading. */
function listOf(text: string, heading: string): string[] {
  const list = text.split(`<h2>${heading}</h2>`)[1]?.split('</ul>')[0] ?? ''
  return [...list.matchAll(/<li>([^<]*?) ?</g)].map(([, words = '']) => words)
}

test('303: a visitor is redirected to the sign-in and back', async () => {
  assert.equal((await world.jar().get('/plan')).location, '/sign-in?return=%2Fplan')
})

test('where no plans are sold, one sentence says that everything is included, and no other page speaks of plans', async () => {
  const person = await world.addPerson({ plan: null })
  const jar = await world.enter(person)
  const { text } = await jar.get('/plan')
  assert.match(text, /Everything that this server offers is included\./)
  assert.doesNotMatch(text, /Professional|Developer|href="\/plan"/)
  const consent = await askForConsent(world.service, jar)
  for (const path of ['/', '/welcome', '/keys', '/webhooks', '/agents', '/usage', consent.path]) {
    assert.doesNotMatch((await jar.get(path)).text, /\bplans?\b|professional/i, path)
  }
})

test('a person with a smaller plan is told what is missing where it would be used, also where no plans are sold', async () => {
  assert.deepEqual(listOf(await read(world, { plan: 'developer' }), 'Not included'), [
    'Holdings',
    'Trades',
  ])
  for (const path of ['/', '/keys', '/agents']) {
    assert.match(
      await read(world, { plan: 'none' }, path),
      /Your plan does not include access for/,
      path,
    )
  }
})

test('where plans are sold, the navigation leads to the plan, which lists every operation once', async () => {
  for (const [plan, lacking] of [
    [{ plan: 'professional' }, []],
    [{ plan: 'professional', status: 'past_due' }, []],
    [{ plan: 'professional', status: 'trialing' }, ['Holdings', 'Trades']],
    [{ plan: 'developer' }, ['Holdings', 'Trades']],
    [{ plan: 'developer', status: 'trialing' }, ['Holdings', 'Trades']],
    [{ plan: 'none', grandfathered: true }, ['Holdings', 'Trades']],
  ] as const) {
    const text = await read(shop, plan)
    assert.match(text, /<a href="\/plan" aria-current="page"><svg.*?<\/svg>Plan<\/a>/)
    assert.deepEqual(listOf(text, 'Not included'), lacking, JSON.stringify(plan))
    const all = [...listOf(text, 'Included'), ...listOf(text, 'Not included')]
    for (const title of [
      'Connections',
      'Accounts',
      'Balances',
      'Transactions',
      'Holdings',
      'Trades',
    ])
      assert.equal(all.filter((one) => one === title).length, 1, title)
  }
})

test('without access everything is missing, and the page says why', async () => {
  assert.match(await read(shop, { plan: null }), /need a Developer or Professional plan/)
  const canceled = await read(shop, { plan: 'professional', status: 'canceled' })
  assert.match(canceled, /<dd>canceled<\/dd>/)
  assert.match(canceled, /The plan was canceled, so programs and agents are refused/)
  assert.equal(listOf(canceled, 'Not included').length, operations.length)
})

test('a former account has access until fourteen days after its cut-off, with the date in the person’s zone', async () => {
  const cutOff = Date.parse('2026-11-20T00:00:00Z')
  const text = await read(shop, { plan: 'none', legacyUntil: cutOff })
  assert.match(text, /access until <time datetime="2026-12-04T00:00:00.000Z"/)
  assert.match(text, /4 Dec 2026, 11:00/)
  const ended = await read(shop, { plan: 'none', legacyUntil: cutOff - 30 * 86_400_000 })
  assert.match(ended, /access ended on <time/)
})
