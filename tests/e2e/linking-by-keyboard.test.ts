/**
 * A bank is linked in a real browser, from the choice over the provider's page and back: with the keyboard
 * alone, on a narrow screen, with and without scripts, and without barriers.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { password, startPages } from '#tests/request/pages/world.ts'
import { findBarriers } from '#tests/support/looks.ts'
import { openInBrowser } from './stage.ts'

const { world, browser } = await openInBrowser(startPages)

async function reach(page: Page, target: Locator): Promise<void> {
  for (let presses = 0; presses < 40; presses += 1) {
    if (await target.evaluate((node) => node === node.ownerDocument.activeElement)) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`the keyboard does not reach ${target}`)
}

async function press(page: Page, target: Locator, url: RegExp): Promise<void> {
  await reach(page, target)
  await Promise.all([page.waitForURL(url), page.keyboard.press('Enter')])
}

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name })

for (const javaScriptEnabled of [true, false]) {
  const scripts = javaScriptEnabled ? 'with scripts' : 'without scripts'
  test(`a bank is linked with the keyboard alone on a narrow screen, ${scripts}`, async () => {
    const person = await world.addPerson()
    const viewport = { width: 360, height: 740 }
    await using visit = await browser.open({ viewport, javaScriptEnabled })
    const { page, complaints } = visit
    await page.goto(`${world.service.baseUrl}/connections/new`)
    await page.getByLabel('E-mail address').fill(person.email)
    await page.getByLabel('Password', { exact: true }).fill(password)
    await button(page, 'Sign in').click()
    await press(page, page.getByRole('link', { name: 'Banks in Australia' }), /provider=fiskil/)
    if (javaScriptEnabled) assert.deepEqual(await findBarriers(page), [])
    await reach(page, page.getByLabel('Search'))
    await page.keyboard.type('southern')
    await press(page, button(page, 'Search'), /q=southern/)
    await press(page, button(page, 'Southern Cross Mutual'), /\/auth/)
    await press(page, button(page, 'Allow'), /\/connections\/[^/]+\?done=linked/)
    await page.getByRole('status').filter({ hasText: 'Linked' }).waitFor()
    const [row] = await world.service.app.store.connections.list(person.id)
    assert.equal(row?.institutionName, 'Southern Cross Mutual')
    assert.deepEqual(complaints, [])
  })
}
