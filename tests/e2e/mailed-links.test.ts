/**
 * The links of mails in a real browser: an invitation that becomes an account, a forgotten password, the
 * banner of an address that is not confirmed; with and without scripts, without barriers, wide and narrow.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { pathIn, startMailed } from '#tests/request/pages/mailed.ts'
import type { Visit } from '#tests/support/browser.ts'
import { assertFits } from '#tests/support/looks.ts'
import { openInBrowser } from './stage.ts'

const password = 'correct horse battery'
const newPassword = 'staple correct battery'

const { world, browser } = await openInBrowser(startMailed)

const button = (page: Page, name: string) => page.getByRole('button', { name })

async function click(page: Page, name: string, url: RegExp): Promise<void> {
  await Promise.all([page.waitForURL(url), button(page, name).click()])
}

async function fill(page: Page, fields: Readonly<Record<string, string>>): Promise<void> {
  for (const [label, text] of Object.entries(fields))
    await page.getByLabel(label, { exact: true }).fill(text)
}

function assertQuiet({ asked, complaints }: Visit): void {
  const foreign = asked.filter((url) => new URL(url).origin !== world.service.baseUrl)
  assert.deepEqual([foreign, complaints], [[], []])
}

for (const javaScriptEnabled of [true, false]) {
  const scripts = javaScriptEnabled ? 'with' : 'without'

  test(`${scripts} scripts: invitation, account, forgotten password, new password`, async () => {
    await using visit = await browser.open({ javaScriptEnabled })
    const { page } = visit
    const base = world.service.baseUrl
    const email = `invited-${scripts}@example.test`
    await world.invite(email)
    await page.goto(base + pathIn(await world.mailTo(email)))
    assert.equal(await page.getByLabel('E-mail address').inputValue(), email)
    await fill(page, { Name: 'Iris', Password: password })
    await click(page, 'Create account', /\/welcome$/)
    await click(page, 'Sign out', /\/$/)
    await page.goto(`${base}/sign-in`)
    await page.getByRole('link', { name: 'Forgot your password?' }).click()
    await fill(page, { 'E-mail address': email })
    await click(page, 'Send the link', /done=asked$/)
    await page.goto(base + pathIn(await world.mailTo(email, 2)))
    await fill(page, { 'New password': newPassword })
    await click(page, 'Set password', /\/password-changed$/)
    await page.getByRole('main').getByRole('link', { name: 'Sign in' }).click()
    await fill(page, { 'E-mail address': email, Password: newPassword })
    await click(page, 'Sign in', /\/$/)
    await page.goBack()
    await page.goto(base + pathIn(await world.mailTo(email, 2)))
    await page.getByText('It was used already').waitFor()
    assert.deepEqual(
      visit.complaints.filter((line) => !line.includes('410')),
      [],
    )
  })

  test(`${scripts} scripts: sign-up, the banner, the link again, the confirmation`, async () => {
    await using visit = await browser.open({ javaScriptEnabled })
    const { page } = visit
    const base = world.service.baseUrl
    const email = `newcomer-${scripts}@example.test`
    await page.goto(`${base}/sign-up`)
    await fill(page, { Name: 'Nora', 'E-mail address': email, Password: password })
    await click(page, 'Create account', /\/welcome$/)
    await click(page, 'Send the link again', /done=sent$/)
    await page.goto(base + pathIn(await world.mailTo(email, 2)))
    await click(page, 'Confirm address', /\/address-confirmed$/)
    await page.getByRole('link', { name: 'Go to your account' }).click()
    assert.equal(await button(page, 'Send the link again').count(), 0)
    assertQuiet(visit)
  })
}

test('the pages of mailed links fit 320, 768 and 1280 px in light and dark, without barriers', async () => {
  await using visit = await browser.open({})
  const { page } = visit
  const base = world.service.baseUrl
  const look = async (place: string) => {
    const answer = await page.goto(base + place)
    await assertFits(page, place)
    assert.ok(((await answer?.body())?.length ?? 0) < 100_000)
  }
  const email = 'a-person-with-a-long-address-on-every-screen@example.test'
  await look(new URL((await world.invite(email)).url).pathname)
  await look('/forgot-password')
  await look('/forgot-password?done=asked')
  await look('/password-changed')
  await look('/address-confirmed')
  await look(`/invitations/${'A'.repeat(43)}`)
  await page.goto(`${base}/sign-up`)
  await fill(page, { Name: 'Nora', 'E-mail address': `b-${email}`, Password: password })
  await click(page, 'Create account', /\/welcome$/)
  await look('/keys')
  await look(pathIn(await world.mailTo(`b-${email}`)))
  await look('/confirm-address?done=sent')
})
