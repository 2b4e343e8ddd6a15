/**
 * Settings, usage and agents with the keyboard alone: every control is reached by Tab and used by Enter or
 * Space.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { connectAgent, password, startPages } from '#tests/request/pages/world.ts'
import { openInBrowser } from './stage.ts'

const { world, browser } = await openInBrowser(startPages)

/** Presses Tab until the focus is there, and sees that it shows. */
async function reach(page: Page, target: Locator): Promise<void> {
  for (let presses = 0; presses < 60; presses += 1) {
    const isThere = await target.evaluate((node) => node === node.ownerDocument.activeElement)
    if (isThere) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`the keyboard does not reach ${target}`)
}

async function press(page: Page, target: Locator, url: RegExp): Promise<void> {
  await reach(page, target)
  await Promise.all([page.waitForURL(url), page.keyboard.press('Enter')])
}

async function type(page: Page, label: string, text: string): Promise<void> {
  await reach(page, page.getByLabel(label, { exact: true }))
  await page.keyboard.press('Control+A')
  await page.keyboard.type(text)
}

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name })
const link = (page: Page, name: string) => page.getByRole('link', { name, exact: true })

test('with the keyboard alone: settings are saved, a browser is signed out, usage is read as a table, an agent is disconnected', async () => {
  const { service } = world
  const person = await world.addPerson()
  const other = await world.enter(person)
  await connectAgent(service, other, { name: 'Claude' })
  await service.app.store.usage.add([
    {
      userId: person.id,
      day: Math.floor(service.clock.now() / 86_400_000),
      reader: 'key',
      door: 'rest',
      operation: 'list_accounts',
      result: 'HIT',
      requests: 7,
    },
  ])
  await using visit = await browser.open({ viewport: { width: 1024, height: 800 } })
  const { page, complaints } = visit
  await page.goto(`${service.baseUrl}/sign-in?return=%2Fsettings`)
  await type(page, 'E-mail address', person.email)
  await type(page, 'Password', password)
  await press(page, button(page, 'Sign in'), /\/settings$/)

  await type(page, 'Name', 'Emma Keys')
  await type(page, 'Time zone', 'Pacific/Auckland')
  await press(page, button(page, 'Save'), /\?done=saved$/)
  await page.getByText('Saved.').waitFor()
  assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'Emma Keys')
  await press(page, button(page, /^Sign out .*(browser|Unknown)/i).last(), /\?done=ended$/)
  assert.equal((await other.get('/keys')).status, 303)

  await press(page, link(page, 'Usage'), /\/usage$/)
  const table = page.locator('summary').first()
  await reach(page, table)
  await page.keyboard.press('Enter')
  await page.getByRole('table').first().waitFor()
  assert.ok((await page.locator('main').innerText()).includes('7'))

  await press(page, link(page, 'Agents'), /\/agents$/)
  const client = page.locator('summary').first()
  await reach(page, client)
  await page.keyboard.press('Enter')
  assert.equal(await page.locator('details').first().getAttribute('open'), '')
  await page.goto(`${service.baseUrl}/agents`)
  await press(page, button(page, 'Disconnect Claude'), /\/agents\/disconnect/)
  await press(page, button(page, 'Disconnect'), /\?done=disconnected$/)
  await page.getByText('The agent is disconnected').waitFor()
  assert.deepEqual(complaints, [])
})
