/**
 * The overview and the pages of connections in a real browser: every width and theme, the keyboard alone, no
 * scripts.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import type { ConnectionRow } from '#store/ports/connections.ts'
import { password, startPages } from '#tests/request/pages/world.ts'
import { plantBank } from '#tests/support/bank.ts'
import { assertFits, everyLook, lookAt, readWidth } from '#tests/support/looks.ts'
import { openInBrowser } from './stage.ts'

const { world, browser } = await openInBrowser(startPages)
const person = await world.addPerson()
const user = { ...(await world.service.createUser()), id: person.id }
const institutionName = 'AnInstitutionWhoseNameIsOneVeryLongWord'.repeat(2)
const plan = { status: 'invalidated', institutionName, consentExpiresAt: 0 } as const
const rows = [
  ...(await world.service.link(user, 'healthy')),
  (await plantBank(world.service, user, plan)).connection,
]

async function enter(page: Page): Promise<void> {
  await page.goto(`${world.service.baseUrl}/sign-in`)
  await page.getByLabel('E-mail address').fill(person.email)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL(`${world.service.baseUrl}/`)
}

const pick = (provider: ConnectionRow['provider']) =>
  rows.find((row) => row.provider === provider) ?? assert.fail(`nothing at ${provider} is linked`)

/** Words of labels that are cut over two lines. */
const findCutWords = `[...document.querySelectorAll('.facts dt')].flatMap(({ firstChild }) =>
  [...firstChild.data.matchAll(/\\w+/g)].filter(({ index, 0: word }) => {
    const range = document.createRange()
    range.setStart(firstChild, index)
    range.setEnd(firstChild, index + word.length)
    return range.getClientRects().length > 1
  }).map(([word]) => word))`

test('every page of connections fits 320, 768 and 1280 px in light and dark, without barriers', async () => {
  await using visit = await browser.open({})
  const { page, asked, complaints } = visit
  await enter(page)
  const { id } = pick('fiskil')
  const broken = rows.at(-1)?.id
  for (const path of [
    '/',
    '/connections',
    `/connections/${id}`,
    `/connections/${id}/remove`,
    `/connections/${broken}`,
    `/connections/${pick('up').id}/reconnect`,
  ]) {
    await page.goto(world.service.baseUrl + path)
    assert.equal(new URL(page.url()).pathname, path)
    await lookAt(page, everyLook, async (name, { width }) => {
      assert.equal(await page.evaluate(readWidth), width, name)
      assert.deepEqual(await page.evaluate(findCutWords), [], name)
    })
    for (const summary of await page.locator('main summary').all()) await summary.click()
    await assertFits(page, 'everything open')
  }
  const foreign = asked.filter((url) => new URL(url).origin !== world.service.baseUrl)
  assert.deepEqual([foreign, complaints], [[], []])
})

test('on a narrow screen the overview cuts no name of an account', async () => {
  await using visit = await browser.open({ viewport: { width: 360, height: 740 } })
  const { page } = visit
  await enter(page)
  await page.locator('.holds').first().waitFor()
  const cut = await page.evaluate(
    "[...document.querySelectorAll('.holds')].filter((one) => one.scrollWidth > one.clientWidth).length",
  )
  assert.equal(cut, 0)
})

// Many rows of money take long to examine.
for (const colorScheme of ['light', 'dark'] as const) {
  const looks = everyLook.filter((look) => look.colorScheme === colorScheme)
  test(`the pages of money fit 320, 768 and 1280 px in ${colorScheme}, without barriers`, async () => {
    await using visit = await browser.open({})
    const { page, asked, complaints } = visit
    await enter(page)
    const base = world.service.baseUrl
    const look = async (path: string) => {
      await page.goto(base + path)
      await assertFits(page, path, looks)
    }
    await look('/money')
    await look('/money?show=1')
    for (const provider of ['fiskil', 'snaptrade'] as const) {
      const { userId, id } = pick(provider)
      const [account] = await world.service.app.store.accounts.listByConnection(userId, id)
      await look(`/money/${account?.id}`)
      await look(`/money/${account?.id}?show=1&month=3`)
    }
    const foreign = asked.filter((url) => new URL(url).origin !== base)
    assert.deepEqual([foreign, complaints], [[], []])
  })
}

for (const javaScriptEnabled of [true, false]) {
  test(`a connection is refreshed and kept, with JavaScript ${javaScriptEnabled ? 'on' : 'off'}`, async () => {
    world.service.clock.advance(61_000)
    await using visit = await browser.open({ javaScriptEnabled })
    const { page } = visit
    await enter(page)
    const { institutionName } = pick('snaptrade')
    await page.getByRole('link', { name: institutionName, exact: true }).first().click()
    await page.getByRole('button', { name: 'Refresh' }).click()
    await page.getByRole('status').getByText('were read just now').waitFor()
    await page.getByRole('button', { name: 'Refresh' }).click()
    await page.getByRole('status').getByText('less than a minute ago').waitFor()
    await page.getByRole('link', { name: 'Remove' }).click()
    await page.getByRole('button', { name: 'Keep it' }).click()
    await page.getByRole('status').getByText('Nothing was changed').waitFor()
  })
}

test('with the keyboard alone a connection is found, opened and removed', async () => {
  await using visit = await browser.open({})
  const { page } = visit
  await enter(page)
  const press = async (name: RegExp | string, url: RegExp, role: 'button' | 'link' = 'button') => {
    const target = page.locator('main').getByRole(role, { name }).first()
    for (let presses = 0; presses < 60; presses += 1) {
      if (await target.evaluate((node) => node === node.ownerDocument.activeElement)) break
      await page.keyboard.press('Tab')
    }
    await Promise.all([page.waitForURL(url), page.keyboard.press('Enter')])
  }
  const up = pick('up')
  await page.goto(`${world.service.baseUrl}/connections`)
  await press(up.institutionName, /\/connections\/[\da-f-]{36}$/, 'link')
  await press('Remove', /\/remove\??$/, 'link')
  await press('Remove the connection', /\/connections\?done=removed$/)
  await page.getByRole('status').getByText('The connection is removed').waitFor()
  assert.equal(await world.service.app.store.connections.find(up.id), null)
})
