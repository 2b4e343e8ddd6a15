/** The operator's pages in a real browser: every width and theme, the keyboard alone, no other host. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { assertFits, makeLooks } from '#tests/support/looks.ts'
import { startService } from '#tests/support/service.ts'
import { openInBrowser } from './stage.ts'

const { world: service, browser } = await openInBrowser(startService)
const user = await service.createUser({ plan: 'professional' })
await service.link(user, 'healthy')

async function signIn(page: Page): Promise<void> {
  await page.goto(`${service.adminUrl}/sign-in`)
  await page.getByLabel('Admin token').fill(service.adminToken)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Doctor' }).waitFor()
}

test("the operator's pages fit 360, 768 and 1280 px in light and dark, without barriers", async () => {
  await using visit = await browser.open({})
  const { page, asked, complaints } = visit
  await signIn(page)
  for (const path of [
    ...['/', '/people', `/people/${user.id}`, '/invitations', '/providers', '/queues'],
    '/audit',
  ]) {
    await page.goto(service.adminUrl + path)
    await assertFits(page, path, makeLooks([1280, 768, 360]))
  }
  const foreign = asked.filter((url) => new URL(url).origin !== service.adminUrl)
  assert.deepEqual([foreign, complaints], [[], []])
})

test('with the keyboard alone somebody is invited, and the invitation withdrawn', async () => {
  await using visit = await browser.open({})
  const { page } = visit
  await signIn(page)
  await page.goto(`${service.adminUrl}/invitations`)
  await page.getByLabel('E-mail address').fill('guest@example.test')
  await page.keyboard.press('Enter')
  await page.getByText('/invitations/').waitFor()
  await page.getByRole('button', { name: 'Withdraw: guest@example.test' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('status').getByText('is withdrawn').waitFor()
})
