/**
 * Pages that people rarely see, in a real browser, narrow and dark, wide and light: the ends of a link, the
 * wait for accounts, keys of one's own, the end of an account, refusals. axe finds nothing on them and none
 * is wider than the screen.
 */
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { password, startPages } from '#tests/request/pages/world.ts'
import { assertFits } from '#tests/support/looks.ts'
import { openInBrowser } from './stage.ts'

const { world, browser } = await openInBrowser(startPages)

const press = (page: Page, name: string | RegExp) => page.getByRole('button', { name }).click()
const heading = (page: Page, name: string | RegExp) => page.getByRole('heading', { name }).waitFor()
const open = (page: Page, path: string) => page.goto(world.service.baseUrl + path)

/** Begins a link, up to the provider's page. */
async function begin(page: Page, provider: string, institution: string): Promise<void> {
  await open(page, `/connections/new?provider=${provider}`)
  await page.getByRole('button', { name: institution, exact: true }).click()
  await page.getByText('This provider is made up').waitFor()
}

const looks = [
  { width: 1280, colorScheme: 'light' },
  { width: 320, colorScheme: 'dark' },
] as const

test('ends of a link, own keys, refusals and the end of an account have no barriers at 320 px, dark, and 1280 px, light', async () => {
  const person = await world.addPerson()
  await using visit = await browser.open({})
  const { page } = visit
  const look = (place: string) => assertFits(page, place, looks)
  for (const path of ['/reset-password/x', '/confirm-address/x', '/invitations/x', '/no-page']) {
    await open(page, path)
    await look(path)
  }
  await open(page, '/sign-in')
  await page.getByLabel('E-mail address').fill(person.email)
  await page.getByLabel('Password').fill(password)
  await press(page, 'Sign in')
  await heading(page, 'Overview')
  await begin(page, 'akahu', 'ASB')
  await press(page, 'Deny')
  await heading(page, 'Nothing was linked')
  await look('declined')
  await begin(page, 'akahu', 'ASB')
  await page.getByText('Try what can go wrong').click()
  await press(page, 'The bank does not answer')
  await heading(page, 'It did not work this time')
  await look('failed')
  await begin(page, 'fiskil', 'Wattle Bank')
  await page.getByText('Try what can go wrong').click()
  await page.getByLabel('after half a minute').check()
  await press(page, 'Allow')
  await heading(page, 'Your accounts are on their way')
  await look('waiting')
  await open(page, '/providers/fiskil/callback/unknown')
  await look('unknown return')
  for (const provider of ['akahu', 'up']) {
    await open(page, `/connections/new?provider=${provider}`)
    for (const summary of await page.locator('summary').all()) await summary.click()
    await press(page, 'Link with this key')
    await page.locator('.problem').first().waitFor()
    await look(`own key of ${provider}`)
  }
  for (const path of ['/connections', '/keys', '/webhooks', '/agents']) {
    await open(page, `${path}?done=gone`)
    await look(`${path}, gone`)
  }
  await open(page, '/keys')
  await page
    .locator('main form input[name=token]')
    .evaluate((field) => field.setAttribute('value', 'another'))
  await page.getByLabel('Name').fill('one')
  await press(page, 'Create key')
  await heading(page, 'That form has expired')
  await look('expired form')
  await open(page, '/no-page')
  await page.getByRole('navigation', { name: 'Your account' }).waitFor()
  await look('no page, signed in')
  await open(page, '/settings/delete')
  await press(page, 'Keep it')
  await heading(page, 'Settings')
  await open(page, '/settings/delete')
  await page.getByLabel(`Type ${person.email} to confirm`).fill(person.email)
  await press(page, 'Delete the account')
  await heading(page, 'The account is deleted')
  await look('/deleted')
})
