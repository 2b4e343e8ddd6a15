/**
 * The pages in a real browser: the whole way of a person with the keyboard alone, wide and narrow, light and
 * dark, without barriers, without scripts, and without asking anybody but this server.
 */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import {
  askForConsent,
  connectAgent,
  type Person,
  password,
  startPages,
} from '#tests/request/pages/world.ts'
import type { Visit } from '#tests/support/browser.ts'
import { assertFits } from '#tests/support/looks.ts'
import { openInBrowser } from './stage.ts'

const wide = { width: 1280, height: 900 }
const narrow = { width: 360, height: 740 }

const { world, browser } = await openInBrowser(startPages)
/** Where an agent on the person's own machine waits for its code. */
const agent = createServer((_request, response) => response.end('The agent has its answer.'))
await new Promise<void>((resolve) => agent.listen(0, '127.0.0.1', resolve))
const redirect = `http://127.0.0.1:${(agent.address() as AddressInfo).port}/callback`
after(async () => {
  agent.closeAllConnections()
  await new Promise((resolve) => agent.close(resolve))
})

/** Presses Tab until the focus is there, as a person without a mouse does. */
async function reach(page: Page, target: Locator): Promise<void> {
  for (let presses = 0; presses < 30; presses += 1) {
    const isThere = await target.evaluate((node) => node === node.ownerDocument.activeElement)
    if (isThere) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`the keyboard does not reach ${target}`)
}

async function type(page: Page, label: string, text: string): Promise<void> {
  await reach(page, page.getByLabel(label, { exact: true }))
  await page.keyboard.type(text)
}

/** The key on a control that leads to another page. */
async function press(page: Page, target: Locator, url: string | RegExp): Promise<void> {
  await reach(page, target)
  await Promise.all([page.waitForURL(url), page.keyboard.press('Enter')])
}

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name })

/** An agent's request for consent in this browser; the page it leads to. */
async function openConsent(page: Page): Promise<void> {
  const { path } = await askForConsent(
    world.service,
    {
      ...world.jar(),
      get: async (url) => {
        await page.goto(world.service.baseUrl + url)
        const place = new URL(page.url())
        const consent = place.searchParams.get('return') ?? place.pathname
        return { status: 303, headers: {}, text: '', location: consent, hidden: {} }
      },
    },
    { name: 'Claude', redirect },
  )
  assert.match(path, /^\/consent\//)
}

function assertQuiet({ asked, complaints }: Visit): void {
  const own = [world.service.baseUrl, new URL(redirect).origin]
  assert.deepEqual(
    asked.filter((url) => !own.includes(new URL(url).origin)),
    [],
  )
  assert.deepEqual(complaints, [])
}

for (const [viewport, colorScheme] of [
  [wide, 'light'],
  [narrow, 'dark'],
] as const) {
  test(`with the keyboard alone at ${viewport.width} px, ${colorScheme}: sign up, consent, agents, sign out, sign in`, async () => {
    await using visit = await browser.open({ viewport, colorScheme })
    const { page } = visit
    const base = world.service.baseUrl
    const email = `emma-${viewport.width}@example.test`
    await openConsent(page)
    await page.getByText('Claude is waiting to read your data').waitFor()
    await press(page, page.getByRole('link', { name: 'Create an account' }), /\/sign-up/)
    await type(page, 'Name', 'Emma')
    await type(page, 'E-mail address', email)
    await type(page, 'Password', password)
    await press(page, button(page, 'Create account'), /\/consent\//)

    const brokers = page.getByRole('checkbox', { name: /^Brokers/ })
    assert.equal(await brokers.isChecked(), true)
    await reach(page, brokers)
    await page.keyboard.press('Space')
    assert.equal(await brokers.isChecked(), false)
    await press(page, button(page, 'Allow'), /127\.0\.0\.1:\d+\/callback\?/)
    assert.match(page.url(), /[?&]code=[^&]+/)

    await page.goto(`${base}/`)
    await press(page, page.getByRole('link', { name: 'Agents', exact: true }), `${base}/agents`)
    const row = page.getByRole('row', { name: /Claude/ })
    assert.match(await row.innerText(), /127\.0\.0\.1[\s\S]*Banks\b(?! and)/)
    await reach(page, button(page, 'Disconnect Claude'))
    await Promise.all([page.waitForURL(/\/agents\/disconnect\?/), page.keyboard.press('Enter')])
    await press(page, button(page, 'Keep'), `${base}/agents`)
    await press(page, button(page, 'Disconnect Claude'), /\/agents\/disconnect\?/)
    await press(page, button(page, 'Disconnect'), /done=disconnected$/)
    assert.match(await page.getByRole('status').innerText(), /The agent is disconnected/)
    await page.getByText('No agent is connected').waitFor()
    await press(page, button(page, 'Sign out'), `${base}/`)
    await press(page, page.getByRole('link', { name: 'Sign in' }).first(), `${base}/sign-in`)
    await type(page, 'E-mail address', email)
    await type(page, 'Password', password)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    assertQuiet(visit)
  })
}

test('deny leads back to the agent without a code', async () => {
  const person = await world.addPerson()
  await using visit = await browser.open({ viewport: narrow })
  const { page } = visit
  await openConsent(page)
  await signIn(page, person)
  await page.waitForURL(/\/consent\//)
  await press(page, button(page, 'Deny'), /\/callback\?/)
  assert.equal(new URL(page.url()).searchParams.get('error'), 'access_denied')
  assertQuiet(visit)
})

test('without JavaScript the same forms work', async () => {
  const person = await world.addPerson()
  await using visit = await browser.open({ viewport: wide, javaScriptEnabled: false })
  const { page } = visit
  await openConsent(page)
  await signIn(page, person)
  await page.waitForURL(/\/consent\//)
  await button(page, 'Allow').click()
  await page.waitForURL(/\/callback\?.*code=/)
})

for (const javaScriptEnabled of [true, false]) {
  test(`F23: a key is made, shown once, copied in words that end by themselves, and used, with JavaScript ${javaScriptEnabled ? 'on' : 'off'}`, async () => {
    const person = await world.addPerson()
    await using visit = await browser.open({ viewport: wide, javaScriptEnabled })
    const { page } = visit
    const base = world.service.baseUrl
    await page.goto(`${base}/keys`)
    await signIn(page, person)
    await page.waitForURL(`${base}/keys`)
    await page.getByLabel('Name').fill('laptop')
    await button(page, 'Create key').click()
    const key = await page.locator('output[name=secret]').innerText()
    assert.equal(await button(page, 'Copy the key').count(), javaScriptEnabled ? 1 : 0)
    if (javaScriptEnabled) {
      await button(page, 'Copy the key').click()
      await button(page, /^(?:Copied|Selected) the key$/).waitFor()
      await button(page, 'Copy the key').waitFor()
    }
    const answer = await fetch(`${base}/v1/accounts`, {
      headers: { authorization: `Bearer ${key}` },
    })
    assert.equal(answer.status, 200)
    await page.reload()
    assert.equal(await page.locator('output[name=secret]').count(), 0)
    assert.ok(!(await page.content()).includes(key))
    assertQuiet(visit)
  })
}

test('the first stop of the keyboard leads past the navigation, and every stop can be seen', async () => {
  await using visit = await browser.open({ viewport: narrow })
  const { page } = visit
  await page.goto(`${world.service.baseUrl}/`)
  await page.keyboard.press('Tab')
  const skip = page.getByRole('link', { name: 'Skip to content' })
  const box = await skip.boundingBox()
  assert(box !== null && box.x >= 0 && box.y >= 0, JSON.stringify(box))
  await page.keyboard.press('Enter')
  await page.keyboard.press('Tab')
  assert.equal(await page.evaluate('document.activeElement.closest("main") !== null'), true)
  await page.goto(`${world.service.baseUrl}/sign-in`)
  await page.waitForFunction('document.activeElement.matches("input")')
  // From the field that has the focus to the last link, and back to the first.
  const way = [...Array<string>(3).fill('Tab'), ...Array<string>(7).fill('Shift+Tab')]
  for (const [stop, key] of way.entries()) {
    await page.keyboard.press(key)
    // A ring may grow for a moment: what counts is that it comes.
    await page
      .waitForFunction(
        "['outlineStyle', 'boxShadow'].some((name) => getComputedStyle(document.activeElement)[name] !== 'none')",
        undefined,
        { timeout: 2000 },
      )
      .catch((cause: unknown) => assert.fail(`stop ${stop} cannot be seen: ${cause}`))
  }
  assert.equal(await page.evaluate('document.activeElement.className'), 'skip')
})

test('a problem is shown at its field, and the focus is there', async () => {
  await using visit = await browser.open({ viewport: wide })
  const { page } = visit
  await page.goto(`${world.service.baseUrl}/sign-up`)
  await page.getByLabel('Name').fill('Emma')
  await page.getByLabel('E-mail address').fill('nobody@here.example')
  await page.getByLabel('Password').fill('short')
  await button(page, 'Create account').click()
  const wrong = page.getByLabel('Password')
  await page.locator('[aria-invalid=true]').waitFor()
  assert.equal(await wrong.evaluate((node) => node === node.ownerDocument.activeElement), true)
  const described = (await wrong.getAttribute('aria-describedby')) ?? ''
  assert.match(await page.locator(`#${described}`).innerText(), /10 to 256 characters/)
  assert.equal(await page.getByLabel('Password').inputValue(), '', 'a password is never sent back')
})

async function signIn(page: Page, person: Person): Promise<void> {
  await page.getByLabel('E-mail address').fill(person.email)
  await page.getByLabel('Password').fill(password)
  await button(page, 'Sign in').click()
}

test('every page fits 320, 768 and 1280 px in light and dark, without barriers', async () => {
  const person = await world.addPerson({ plan: 'developer' })
  const jar = await world.enter(person)
  const name = 'AnAgentWhoseNameIsOneVeryLongWord'.repeat(2)
  await connectAgent(world.service, jar, { name, redirect, ticked: ['mcp:read'] })
  await using visit = await browser.open({})
  const { page, complaints } = visit
  const look = (place: string) => assertFits(page, place)
  const base = world.service.baseUrl
  for (const path of [
    '/',
    '/sign-in',
    '/sign-up',
    '/consent/unknown',
    '/nothing',
    '/authorize?client_id=nobody',
  ]) {
    await page.goto(base + path)
    await look(path)
  }
  await page.goto(`${base}/sign-in`)
  await page.getByLabel('E-mail address').fill(person.email)
  await page.getByLabel('Password').fill('a wrong password')
  await button(page, 'Sign in').click()
  await page.getByRole('alert').waitFor()
  await look('a refused sign-in')
  await signIn(page, person)
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  await look('home')
  await page.goto(`${base}/welcome`)
  await look('welcome')
  await page.goto(`${base}/keys`)
  await look('no keys')
  await page.getByLabel('Name').fill(name)
  await button(page, 'Create key').click()
  await page.locator('output[name=secret]').waitFor()
  await look('a new key')
  await page.getByRole('link', { name: /^Revoke/ }).click()
  await page.getByRole('heading', { name: 'Revoke this key?' }).waitFor()
  await look('revoke')
  await button(page, 'Revoke the key').click()
  await page.getByText('The key is revoked').waitFor()
  await look('a revoked key')
  await page.goto(`${base}/webhooks`)
  await look('no endpoints')
  await page.getByLabel('Address').fill(`https://hooks.example/${name}`)
  await button(page, 'Add the endpoint').click()
  await page.locator('output[name=secret]').waitFor()
  await look('a new endpoint')
  await button(page, 'Disable').click()
  await page.getByText('The endpoint is disabled.').waitFor()
  await look('a disabled endpoint')
  await page.getByRole('link', { name: 'Replace the secret' }).click()
  await page.getByRole('heading', { name: 'Replace the secret?' }).waitFor()
  await look('replace the secret')
  await button(page, 'Cancel').click()
  await page.goto(`${base}/webhooks`)
  await look('endpoints')
  await page.goto(`${base}/agents`)
  await look('agents')
  await button(page, /^Disconnect/).click()
  await page.getByRole('heading', { name: 'Disconnect this agent?' }).waitFor()
  await look('disconnect')
  await page.goto(`${base}/agents?done=disconnected`)
  await look('disconnected')
  await openConsent(page)
  await look('consent')
  const odd = complaints.filter((line) => !/status of 40[014]/.test(line))
  assert.deepEqual(odd, [])
})
