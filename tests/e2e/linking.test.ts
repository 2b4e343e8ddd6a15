/**
 * Links in a real browser, from the page of connections to a provider's page and back: a bank and a broker
 * are linked, left, broken and renewed in place. The providers are the emulators; the rest is the service as
 * it runs.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { byOperator } from '#contract/actor.ts'
import type { ConnectionId } from '#kernel/ids.ts'
import { type Person, password, startPages } from '#tests/request/pages/world.ts'
import { openInBrowser } from './stage.ts'

const viewport = { width: 1024, height: 800 }

const { world, browser } = await openInBrowser(startPages)

const rowsOf = ({ id }: Person) => world.service.app.store.connections.list(id)
const accountsOf = ({ id }: Person) => world.service.app.store.accounts.list(id)

async function open(page: Page, path: string, person: Person): Promise<void> {
  const { baseUrl } = world.service
  await page.goto(baseUrl + path)
  if (!page.url().includes('/sign-in')) return
  await page.getByLabel('E-mail address').fill(person.email)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL(/\/connections/)
  await page.goto(baseUrl + path)
}

const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()

/** The names of what the person has linked, as the pages of Tributary and its API show them. */
async function listNames(person: Person): Promise<readonly string[]> {
  return (await rowsOf(person)).map(({ institutionName }) => institutionName).sort()
}

const journeys = [
  {
    provider: 'akahu',
    institution: 'ASB',
    agree: 'Allow',
    leave: 'Deny',
    fail: 'The bank does not answer',
    accounts: ['Everyday', 'Platinum Card', 'Rainy Day'],
  },
  {
    provider: 'snaptrade',
    institution: 'Questrade',
    agree: 'Connect',
    leave: 'Leave',
    fail: 'Connecting fails',
    accounts: ['Individual', 'Retirement'],
  },
  {
    provider: 'fiskil',
    institution: 'Wattle Bank',
    agree: 'Allow',
    leave: 'Deny',
    fail: 'The bank fails',
    accounts: ['Everyday Account', 'Goal Saver'],
  },
] as const

for (const javaScriptEnabled of [true, false]) {
  const scripts = `JavaScript ${javaScriptEnabled ? 'on' : 'off'}`
  for (const { provider, institution, agree, leave, fail, accounts } of journeys) {
    test(`${institution} is left, fails, and is linked by ${provider}, with ${scripts}`, async () => {
      const person = await world.addPerson()
      await using visit = await browser.open({ viewport, javaScriptEnabled })
      const { page } = visit
      const begin = async () => {
        await open(page, `/connections/new?provider=${provider}`, person)
        await press(page, institution)
        await page.getByText('This provider is made up').waitFor()
      }
      await begin()
      await press(page, leave)
      await page.getByRole('heading', { name: 'Nothing was linked' }).waitFor()
      await begin()
      await page.getByText('Try what can go wrong').click()
      await press(page, fail)
      await page.getByRole('heading', { name: 'It did not work this time' }).waitFor()
      assert.deepEqual(await rowsOf(person), [])
      await begin()
      await press(page, agree)
      await page.waitForURL(/\/connections\/[0-9a-f-]{36}\?done=linked$/)
      assert.deepEqual(await listNames(person), [institution])
      const shown = await page.locator('main').innerText()
      for (const name of accounts) assert.ok(shown.includes(name), `${name} is shown`)
      assert.deepEqual((await accountsOf(person)).map(({ name }) => name).sort(), accounts)
      // A failure of the provider is answered with its own status, which the console notes.
      const complaints = visit.complaints.filter((text) => !text.includes('503'))
      assert.deepEqual(complaints, [])
    })
  }
}

/** Links an institution without looking at the pages on the way. */
async function link(
  page: Page,
  person: Person,
  { provider, institution, agree }: (typeof journeys)[number],
) {
  await open(page, `/connections/new?provider=${provider}`, person)
  await press(page, institution)
  await press(page, agree)
  await page.waitForURL(/\?done=linked$/)
  const [row] = await rowsOf(person)
  assert.ok(row !== undefined)
  return { row, ids: (await accountsOf(person)).map(({ id }) => id).sort() }
}

/** As a schedule or a webhook does, so that the page knows what happened at the provider. */
async function refresh(id: ConnectionId): Promise<void> {
  await world.service.app.connections.refreshConnection(byOperator, id, { priority: 'user' })
}

/** Reconnects on the page of the connection, up to the provider's page. */
async function reconnect(page: Page, person: Person, id: string): Promise<void> {
  await open(page, `/connections/${id}`, person)
  await page
    .getByRole('button', { name: /^Reconnect/ })
    .first()
    .click()
  await page.getByText('This provider is made up').waitFor()
}

async function assertSame(person: Person, before: Awaited<ReturnType<typeof link>>): Promise<void> {
  const [row, ...others] = await rowsOf(person)
  assert.deepEqual([row?.id, row?.status, others.length], [before.row.id, 'active', 0])
  assert.deepEqual((await accountsOf(person)).map(({ id }) => id).sort(), before.ids)
}

test('a login that broke at Akahu is renewed in place, also where the renewal gives new ids and a new token', async () => {
  const person = await world.addPerson()
  await using visit = await browser.open({ viewport })
  const { page } = visit
  const linked = await link(page, person, journeys[0])
  const { people } = world.service.sandbox.akahu
  const known = () => Object.values(people).find(({ user }) => user.email === person.email)
  for (const switches of [
    [],
    [
      'A bank that is linked already gets new ids for its accounts',
      'The person gets a new token, and the former one stops',
    ],
  ]) {
    for (const account of known()?.accounts ?? []) account.status = 'INACTIVE'
    await refresh(linked.row.id)
    await reconnect(page, person, linked.row.id)
    await page.getByText('Try what can go wrong').click()
    for (const label of switches) await page.getByLabel(label).check()
    await press(page, 'Allow')
    await page.waitForURL(new RegExp(`/connections/${linked.row.id}`))
    await assertSame(person, linked)
  }
})

test('a broken connection at SnapTrade is renewed in place; another account than before changes nothing', async () => {
  const person = await world.addPerson()
  await using visit = await browser.open({ viewport })
  const { page } = visit
  const linked = await link(page, person, journeys[1])
  const { people } = world.service.sandbox.snaptrade
  const connections = Object.values(people).flatMap((one) => one.connections ?? [])
  const broken = connections.find(({ id }) => id === linked.row.upstreamId)
  assert.ok(broken !== undefined)
  broken.disabled = true
  await refresh(linked.row.id)
  await reconnect(page, person, linked.row.id)
  await page.getByText('Try what can go wrong').click()
  await press(page, 'Another account than before')
  await page.getByRole('heading', { name: 'That was another account' }).waitFor()
  await reconnect(page, person, linked.row.id)
  await press(page, 'Reconnect')
  await page.waitForURL(new RegExp(`/connections/${linked.row.id}`))
  await assertSame(person, linked)
})

test('accounts of Fiskil that arrive later are waited for, and a renewal with new ids keeps ours', async () => {
  const person = await world.addPerson()
  await using visit = await browser.open({ viewport })
  const { page } = visit
  await open(page, '/connections/new?provider=fiskil', person)
  await press(page, 'Wattle Bank')
  await page.getByText('Try what can go wrong').click()
  await page.getByLabel('after two seconds').check()
  await press(page, 'Allow')
  await page.getByRole('heading', { name: 'Your accounts are on their way' }).waitFor()
  await page.waitForURL(/\?done=linked$/)
  const [row] = await rowsOf(person)
  assert.ok(row !== undefined)
  const linked = { row, ids: (await accountsOf(person)).map(({ id }) => id).sort() }
  assert.equal(linked.ids.length, 2)
  const consents = Object.values(world.service.sandbox.fiskil.people).flatMap((one) => one.consents)
  const consent = consents.find(({ arrangementId }) => arrangementId === row.upstreamId)
  assert.ok(consent !== undefined)
  consent.expiresAtMs = 0
  await refresh(row.id)
  await reconnect(page, person, row.id)
  await page.getByText('Try what can go wrong').click()
  await page.getByLabel('The renewal gives a new consent, with new ids of its accounts').check()
  await press(page, 'Renew')
  await page.waitForURL(new RegExp(`/connections/${row.id}`))
  await assertSame(person, linked)
})

test('the field of the search and its button have whole outlines', async () => {
  const person = await world.addPerson()
  await using visit = await browser.open({ viewport })
  const { page } = visit
  await open(page, '/connections/new?provider=fiskil', person)
  const corners =
    await page.evaluate(`[...document.querySelectorAll('.search-row > *')].map((part) => {
    const { borderTopLeftRadius, borderBottomRightRadius } = getComputedStyle(part)
    return [borderTopLeftRadius, borderBottomRightRadius]
  })`)
  assert.deepEqual(corners, [
    ['8px', '8px'],
    ['8px', '8px'],
  ])
})
