/**
 * A person's account in a real browser: profile, second factor, password, signed-in browsers, activity and
 * the end of the account; with and without scripts, at three widths in both themes.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { type Person, password, startPages } from '#tests/request/pages/world.ts'
import { assertFits } from '#tests/support/looks.ts'
import { totpOf } from '#tests/support/totp.ts'
import { openInBrowser } from './stage.ts'

const { world, browser } = await openInBrowser(startPages)

const button = (page: Page, name: string | RegExp) =>
  page.getByRole('button', { name, exact: true })
const open = (page: Page, path: string) => page.goto(world.service.baseUrl + path)
const secretOf = (page: Page) => page.locator('output[name=secret]').innerText()
const next = 'a quite different password'

/** The code of the next step: the one before was used. */
function nextCode(secret: string): string {
  world.service.clock.advance(30_000)
  return totpOf(secret, world.service.clock.now())
}

async function signIn(page: Page, { email }: Person, given = password): Promise<void> {
  await page.getByLabel('E-mail address').fill(email)
  await page.getByLabel('Password').fill(given)
  await button(page, 'Sign in').click()
}

async function setUp(page: Page): Promise<string> {
  await open(page, '/settings/second-factor')
  const secret = await secretOf(page)
  await page.getByLabel('Code').fill(nextCode(secret))
  await button(page, 'Switch on').click()
  await page.getByRole('heading', { name: 'Your recovery codes' }).waitFor()
  return secret
}

for (const javaScriptEnabled of [true, false]) {
  test(`profile, second factor, password and deletion, with JavaScript ${javaScriptEnabled ? 'on' : 'off'}`, async () => {
    const person = await world.addPerson()
    await using visit = await browser.open({ javaScriptEnabled })
    const { page } = visit
    await open(page, '/settings')
    await signIn(page, person)
    await page.getByRole('heading', { name: 'Settings' }).waitFor()
    await page.getByLabel('Time zone').fill('Mars/Olympus')
    await button(page, 'Save').click()
    await page.getByText('The time zone must be an IANA time zone').waitFor()
    await page.getByLabel('Time zone').fill('Pacific/Auckland')
    await button(page, 'Save').click()
    await page.getByText('Saved.').waitFor()

    const secret = await setUp(page)
    const codes = (await secretOf(page)).split('\n')
    assert.equal(codes.length, 10)
    await page.reload()
    assert.equal(await page.locator('output[name=secret]').count(), 0)
    await button(page, 'Sign out').click()
    await open(page, '/settings')
    await signIn(page, person)
    await page.getByRole('heading', { name: 'Enter your code' }).waitFor()
    await page.getByLabel('Code').fill('000')
    await button(page, 'Continue').click()
    await page.getByText('That code is wrong or was used already.').waitFor()
    await page.getByLabel('Code').fill(nextCode(secret))
    await button(page, 'Continue').click()
    await page.getByRole('heading', { name: 'Settings' }).waitFor()

    await page.getByLabel('Current password').fill(password)
    await page.getByLabel('New password').fill(next)
    await button(page, 'Change the password').click()
    await page.getByText('The password is changed.').waitFor()
    await page.getByRole('link', { name: 'Activity' }).click()
    await page.getByText('Changed the password, and signed out every other browser').waitFor()
    await page.getByText('Switched the second factor on').waitFor()

    await open(page, '/settings/delete')
    await page.getByLabel(`Type ${person.email} to confirm`).fill(person.email)
    await button(page, 'Delete the account').click()
    await page.getByRole('heading', { name: 'The account is deleted' }).waitFor()
    assert.equal(await world.service.app.store.users.find(person.id), null)
    await page.getByRole('link', { name: 'To the start' }).click()
    await page.getByRole('link', { name: 'Sign in' }).first().waitFor()
    assert.deepEqual(
      visit.complaints.filter((line) => !/status of 40[01]/.test(line)),
      [],
    )
  })
}

test('a browser that is signed out from another one comes to the sign-in with its next step', async () => {
  const person = await world.addPerson()
  await using lost = await browser.open({})
  await using visit = await browser.open({})
  for (const { page } of [lost, visit]) {
    await open(page, '/settings')
    await signIn(page, person)
    await page.getByRole('heading', { name: 'Settings' }).waitFor()
  }
  await visit.page.reload()
  assert.equal(await visit.page.getByText('this browser', { exact: true }).count(), 1)
  await visit.page.getByRole('button', { name: /^Sign out Chrome on Linux/ }).click()
  await visit.page.getByText('Signed out there.').waitFor()
  await lost.page.getByLabel('Name').fill('Nobody')
  await button(lost.page, 'Save').click()
  assert.notEqual((await world.service.app.store.users.find(person.id))?.name, 'Nobody')
  await open(lost.page, '/settings')
  await lost.page.waitForURL(/\/sign-in\?return=/)
})

test('the pages of the account fit 320, 768 and 1280 px in light and dark, without barriers', async () => {
  const person = await world.addPerson()
  await using visit = await browser.open({})
  const { page } = visit
  const look = async (place: string) => {
    await assertFits(page, place)
    assert.ok((await page.content()).length < 100_000, place)
  }
  await open(page, '/settings/second-factor')
  await signIn(page, person)
  await page.locator('svg.qr').waitFor()
  await look('set up')
  await page.getByLabel('Code').fill('1')
  await button(page, 'Switch on').click()
  await page.getByText('Check the code').waitFor()
  await look('a refused code')
  await setUp(page)
  await look('recovery codes')
  await page.getByRole('link', { name: 'Switch off' }).click()
  await page.getByRole('heading', { name: 'Switch off the second factor?' }).waitFor()
  await look('switch off')
  await open(page, '/settings')
  await page.getByLabel('Time zone').fill('nowhere')
  await button(page, 'Save').click()
  await page.getByText('must be an IANA time zone').waitFor()
  await look('settings')
  await open(page, '/activity')
  await look('activity')
  await open(page, '/settings/delete')
  await look('delete')
  await button(page, 'Sign out').click()
  await open(page, '/sign-in')
  await signIn(page, person)
  await page.getByRole('heading', { name: 'Enter your code' }).waitFor()
  await look('code')
})
