/**
 * Passkeys in a real browser with a virtual authenticator (WebAuthn, automation): made in the settings, used
 * to sign in and in the second step, by keyboard, with and without a script; at three widths in both themes.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CDPSession, Page } from 'playwright-core'
import { homeOf } from '#tests/request/pages/passkey-world.ts'
import { type Person, password, startPages } from '#tests/request/pages/world.ts'
import { assertFits } from '#tests/support/looks.ts'
import { openInBrowser } from './stage.ts'

const { world, browser } = await openInBrowser(startPages, { hosts: ['localhost'] })

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
const heading = (page: Page, name: string) => page.getByRole('heading', { name, exact: true })
const open = (page: Page, path: string) => page.goto(homeOf(world) + path)

/** What is plugged in, and how its owner answers. */
async function plugIn(page: Page, over: { readonly isUserVerified?: boolean } = {}) {
  const session = await page.context().newCDPSession(page)
  await session.send('WebAuthn.enable')
  const { authenticatorId } = await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      ...{ protocol: 'ctap2', transport: 'internal', hasResidentKey: true },
      ...{ hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true },
      ...over,
    },
  })
  return { session, authenticatorId }
}

type Plugged = { readonly session: CDPSession; readonly authenticatorId: string }

async function countCredentials({ session, authenticatorId }: Plugged): Promise<number> {
  const { credentials } = await session.send('WebAuthn.getCredentials', { authenticatorId })
  return credentials.length
}

async function signIn(page: Page, { email }: Person): Promise<void> {
  await page.getByLabel('E-mail address').fill(email)
  await page.getByLabel('Password').fill(password)
  await button(page, 'Sign in').click()
}

/** From the sign-in to the recovery codes that the first passkey brings. */
async function addFirst(page: Page, person: Person): Promise<readonly string[]> {
  await open(page, '/settings')
  await signIn(page, person)
  await page.getByRole('link', { name: 'Add a passkey' }).click()
  await page.getByLabel('Name').fill('Emma’s laptop')
  await button(page, 'Create the passkey').click()
  await heading(page, 'Your recovery codes').waitFor()
  return (await page.locator('output[name=secret]').innerText()).split('\n')
}

test('a person makes a passkey, signs in with it alone, gives it in the second step, and removes it', async () => {
  const person = await world.addPerson()
  await using visit = await browser.open({})
  const { page } = visit
  const plugged = await plugIn(page)
  const codes = await addFirst(page, person)
  assert.equal(codes.length, 10)
  assert.equal(await countCredentials(plugged), 1)

  await button(page, 'Sign out').click()
  await open(page, '/sign-in?return=%2Fsettings')
  await button(page, 'Use a passkey').click()
  await heading(page, 'Passkeys').waitFor()
  const row = page.getByRole('row').filter({ hasText: 'Emma’s laptop' })
  assert.doesNotMatch(await row.innerText(), /never/)

  await button(page, 'Sign out').click()
  await open(page, '/sign-in?return=%2Fsettings')
  await signIn(page, person)
  await heading(page, 'Use your passkey').waitFor()
  await button(page, 'Use a passkey').click()
  await heading(page, 'Passkeys').waitFor()

  await button(page, 'Sign out').click()
  await open(page, '/sign-in?return=%2Fsettings')
  await signIn(page, person)
  await page.getByLabel('Code').fill(codes[0] ?? '')
  await button(page, 'Continue').click()
  await heading(page, 'Passkeys').waitFor()

  await page.getByRole('link', { name: 'Remove Emma’s laptop' }).click()
  await page.getByText('It is your last second factor').waitFor()
  await button(page, 'Remove the passkey').click()
  await page.getByText('The passkey is removed.').waitFor()
  await button(page, 'Sign out').click()
  await open(page, '/sign-in?return=%2Fsettings')
  await button(page, 'Use a passkey').click()
  await page.getByText('That passkey was not accepted.').waitFor()
  await signIn(page, person)
  await heading(page, 'Settings').waitFor()
  assert.deepEqual(
    visit.complaints.filter((line) => !/status of 401/.test(line)),
    [],
  )
  assert.ok(visit.asked.every((url) => new URL(url).origin === homeOf(world)))
})

test('a device has one passkey of an account, says so, and goes on after the person said no', async () => {
  const person = await world.addPerson()
  await using visit = await browser.open({})
  const { page } = visit
  const plugged = await plugIn(page)
  await addFirst(page, person)
  await open(page, '/settings/passkeys')
  await button(page, 'Create the passkey').click()
  await page.getByText('This device has a passkey of this account already.').waitFor()
  const { session, authenticatorId } = plugged
  await session.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false })
  await button(page, 'Sign out').click()
  await open(page, '/sign-in')
  await button(page, 'Use a passkey').click()
  await page.getByText('Nothing was given. Try again when you are ready.').waitFor()
  await session.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: true })
  await button(page, 'Use a passkey').click()
  await page.waitForURL(`${homeOf(world)}/`)
  assert.deepEqual(visit.complaints, [])
})

test('the form of those who use none has its fields and its order of the keyboard, with the button last', async () => {
  await using visit = await browser.open({})
  const { page } = visit
  await open(page, '/sign-in')
  await button(page, 'Use a passkey').waitFor()
  const names: string[] = []
  for (let presses = 0; presses < 6; presses += 1) {
    names.push(
      await page
        .locator(':focus')
        .evaluate((one) => one.getAttribute('name') ?? one.textContent ?? ''),
    )
    await page.keyboard.press('Tab')
  }
  assert.deepEqual(names.slice(0, 4), ['email', 'password', 'Sign in', 'Forgot your password?'])
  assert.equal(names.at(-1), 'Use a passkey')
  // As tests of others look for them: no name of a button contains another's.
  assert.equal(await page.getByRole('button', { name: 'Sign in' }).count(), 1)
  assert.equal(await page.getByRole('textbox').count(), 2)
})

test('without a script, and at an address without passkeys, nothing offers one and everything else works', async () => {
  const person = await world.addPerson()
  await using other = await browser.open({})
  await plugIn(other.page)
  const codes = await addFirst(other.page, person)
  for (const [home, javaScriptEnabled] of [
    [homeOf(world), false],
    [world.service.baseUrl, true],
  ] as const) {
    await using visit = await browser.open({ javaScriptEnabled })
    const { page } = visit
    await page.goto(`${home}/sign-in?return=%2Fsettings%2Fpasskeys`)
    assert.equal(await page.getByRole('button', { name: 'passkey' }).count(), 0)
    await signIn(page, person)
    await heading(page, 'Use your passkey').waitFor()
    assert.equal(await page.getByRole('button', { name: 'passkey' }).count(), 0)
    await page.getByLabel('Code').fill(codes[javaScriptEnabled ? 1 : 2] ?? '')
    await button(page, 'Continue').click()
    await heading(page, 'Add a passkey').waitFor()
    if (javaScriptEnabled) {
      assert.equal(await button(page, 'Create the passkey').count(), 0)
      await page.getByText(homeOf(world)).waitFor()
    } else {
      await page.locator('noscript p').waitFor()
      await button(page, 'Create the passkey').click()
      await page.getByText('This browser gave no passkey.').waitFor()
    }
  }
})

test('with the keyboard alone a passkey is made and used', async () => {
  const person = await world.addPerson()
  await using visit = await browser.open({})
  const { page } = visit
  await plugIn(page)
  const reach = async (name: string) => {
    for (let presses = 0; presses < 60; presses += 1) {
      if (await button(page, name).evaluate((one) => one.matches(':focus'))) return
      await page.keyboard.press('Tab')
    }
    throw new Error(`the keyboard does not reach ${name}`)
  }
  await open(page, '/settings/passkeys')
  await signIn(page, person)
  await heading(page, 'Add a passkey').waitFor()
  await reach('Create the passkey')
  await page.keyboard.press('Enter')
  await heading(page, 'Your recovery codes').waitFor()
  await button(page, 'Sign out').click()
  await open(page, '/sign-in')
  await reach('Use a passkey')
  await page.keyboard.press('Enter')
  await page.waitForURL(`${homeOf(world)}/`)
})

test('the pages of passkeys fit 320, 768 and 1280 px in light and dark, without barriers', async () => {
  const person = await world.addPerson()
  await using visit = await browser.open({})
  const { page } = visit
  await plugIn(page)
  const look = (place: string) => assertFits(page, place)
  await open(page, '/sign-in?return=%2Fsettings%2Fpasskeys')
  await button(page, 'Use a passkey').click()
  await page.getByText('Nothing was given.').waitFor()
  await look('sign-in')
  await signIn(page, person)
  await heading(page, 'Add a passkey').waitFor()
  await look('a new one')
  await page.getByLabel('Name').fill('A passkey with a rather long name, for the narrow screen')
  await button(page, 'Create the passkey').click()
  await heading(page, 'Your recovery codes').waitFor()
  await look('recovery codes')
  await open(page, '/settings')
  await look('settings')
  await page.getByRole('link', { name: /^Remove A passkey/ }).click()
  await heading(page, 'Remove this passkey?').waitFor()
  await look('remove')
  await button(page, 'Sign out').click()
  await open(page, '/sign-in')
  await signIn(page, person)
  await heading(page, 'Use your passkey').waitFor()
  await look('second step')
})
