/**
 * The way of a newcomer in a real browser, with and without scripts: sign up, link made-up data, make a key,
 * ask, see it counted; and the pages of usage, plan and agents at every width, without barriers.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { request } from 'undici'
import { connectAgent, type Person, password, startPages } from '#tests/request/pages/world.ts'
import { assertFits } from '#tests/support/looks.ts'
import { openInBrowser } from './stage.ts'

// The navigation has all its lines where plans are sold.
const { world, browser } = await openInBrowser(() =>
  startPages({ env: { DEFAULT_PLAN: 'developer' } }),
)

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name })

/** Runs the command that a page shows, without a shell. */
async function run(command: string): Promise<number> {
  const [, key = '', url = ''] =
    /^curl -s -H 'Authorization: Bearer (\w+)' '([^']+)'$/.exec(command) ?? []
  const answer = await request(url, { headers: { authorization: `Bearer ${key}` } })
  const { data } = (await answer.body.json()) as { readonly data: readonly unknown[] }
  assert.ok(data.length > 0, 'the answer has rows')
  return answer.statusCode
}

for (const javaScriptEnabled of [true, false]) {
  test(`a newcomer goes from the sign-up to a counted request by the pages alone, scripts ${javaScriptEnabled ? 'on' : 'off'}`, async () => {
    await using visit = await browser.open({ javaScriptEnabled })
    const { page, complaints } = visit
    const base = world.service.baseUrl
    await page.goto(`${base}/sign-up`)
    await page.getByLabel('Name').fill('Emma')
    await page.getByLabel('E-mail address').fill(`newcomer-${javaScriptEnabled}@example.test`)
    await page.getByLabel('Password').fill(password)
    await button(page, 'Create account').click()
    await page.getByRole('heading', { name: 'Your account is ready' }).waitFor()
    await button(page, 'Try with made-up data').click()
    await page.getByText('Made-up banks and a broker are linked').waitFor()
    await page.getByRole('link', { name: 'Create a key', exact: true }).click()
    await page.getByLabel('Name').fill('first')
    await button(page, 'Create key').click()
    const command = page.getByText(/^curl -s/)
    await command.waitFor()
    assert.equal(await button(page, 'Copy the command').count(), javaScriptEnabled ? 1 : 0)
    assert.equal(await run(await command.innerText()), 200)
    await page.goto(`${base}/`)
    assert.equal(await page.getByText('First steps').count(), 0)
    await page.getByRole('link', { name: 'Usage', exact: true }).click()
    await page.getByText('1 request in the last 30 days').waitFor()
    await page.getByRole('img', { name: /Requests by day/ }).waitFor()
    const mark = page.locator('nav[aria-label="Your account"] [aria-current=page]')
    assert.equal(await mark.innerText(), 'Usage')
    assert.deepEqual(complaints, [])
  })
}

/** Requests of many days, with every result. */
async function addUsage({ id }: Person): Promise<void> {
  const today = Math.floor(world.service.clock.now() / 86_400_000)
  for (let back = 0; back < 35; back += 1) {
    const of = {
      userId: id,
      day: today - back,
      reader: 'key',
      door: 'rest',
      operation: 'list_transactions',
    } as const
    await world.service.app.store.usage.add([
      { ...of, result: 'HIT', requests: 400 + 37 * back },
      { ...of, result: 'MISS', requests: 90 + ((back * 53) % 210) },
      { ...of, result: 'limited', requests: 1 + (back % 9) * 12 },
    ])
  }
}

test('F30: without scripts the pointer and the arrow keys show the value of a day of the plot', async () => {
  const person = await world.addPerson({ plan: 'developer' })
  await addUsage(person)
  await using visit = await browser.open({ javaScriptEnabled: false })
  const { page } = visit
  await page.goto(`${world.service.baseUrl}/sign-in?return=%2Fusage`)
  await page.getByLabel('E-mail address').fill(person.email)
  await page.getByLabel('Password').fill(password)
  await button(page, 'Sign in').click()
  const days = page.getByRole('group', { name: 'Requests by day' }).locator('label')
  await days.first().waitFor()
  const shown = async () => {
    const looks = await days.locator('span').evaluateAll((all) =>
      all.map((one) => {
        const { getComputedStyle } = globalThis as unknown as {
          getComputedStyle(node: unknown): { readonly clipPath: string }
        }
        return getComputedStyle(one).clipPath === 'none'
      }),
    )
    return looks.flatMap((isShown, at) => (isShown ? at : []))
  }
  assert.deepEqual(await shown(), [])
  await days.nth(12).hover()
  assert.deepEqual(await shown(), [12])
  assert.match(await days.nth(12).innerText(), /^\d+ \w{3} 2026: [\d,]+\. Computed: \d+, From /)
  await page.mouse.move(0, 0)
  await page
    .getByRole('radio', { name: /Computed: / })
    .first()
    .focus()
  for (const _ of [1, 2, 3]) await page.keyboard.press('ArrowRight')
  assert.deepEqual(await shown(), [3])
  await days.nth(20).hover()
  assert.deepEqual(await shown(), [20], 'the pointer counts before the choice')
})

test('F10, F14, F16, F31: focus is outlined also in forced colours, the navigation and the logo stand still, and the dark theme prints dark on light', async () => {
  const person = await world.addPerson({ plan: 'developer' })
  await using visit = await browser.open({ viewport: { width: 1280, height: 900 } })
  const { page } = visit
  const base = world.service.baseUrl
  const read = <Value>(script: string) => page.evaluate(script) as Promise<Value>
  await page.goto(`${base}/sign-in?return=%2F`)
  await page.getByLabel('E-mail address').fill(person.email)
  await page.getByLabel('Password').fill(password)
  await button(page, 'Sign in').click()
  await page.waitForURL(`${base}/`)
  const places = []
  for (const path of ['/', '/keys', '/usage', '/settings']) {
    await page.goto(base + path)
    places.push(
      await read<number[]>(
        "[...document.querySelectorAll('.sections a, .brand')].map((one) => Math.round(one.getBoundingClientRect().left))",
      ),
    )
    const [logo, heading] = await read<number[]>(
      "['.brand img', 'h1'].map((one) => document.querySelector(one).getBoundingClientRect().left)",
    )
    assert.ok(Math.abs((logo ?? 0) - (heading ?? 99)) <= 1, `${path}: ${logo}, ${heading}`)
  }
  assert.ok((places[0]?.length ?? 0) > 8)
  for (const place of places) assert.deepEqual(place, places[0])
  for (const forcedColors of ['none', 'active'] as const) {
    await page.emulateMedia({ forcedColors })
    for (const selector of ['main a', '.person button', '.sections a']) {
      await page.locator(selector).first().focus()
      await page.keyboard.press('Shift')
      assert.deepEqual(
        await read(
          '(({ outlineStyle, outlineWidth }) => [outlineStyle, outlineWidth])(getComputedStyle(document.activeElement))',
        ),
        ['solid', '2px'],
        `${selector}, ${forcedColors}`,
      )
    }
  }
  await page.emulateMedia({ media: 'print', colorScheme: 'dark', forcedColors: 'none' })
  const ink = await read<string>("getComputedStyle(document.querySelector('main')).color")
  const levels = [...ink.matchAll(/\d+/g)].map(([level]) => Number(level)).slice(0, 3)
  assert.ok(Math.max(...levels) < 110, ink)
})

test('F14: on a phone the header is one line, the open menu is on the screen, and the current section in sight', async () => {
  const person = await world.addPerson({ plan: 'developer' })
  for (const width of [320, 360]) {
    await using visit = await browser.open({ viewport: { width, height: 740 } })
    const { page } = visit
    const base = world.service.baseUrl
    await page.goto(`${base}/sign-in?return=%2Fsettings`)
    await page.getByLabel('E-mail address').fill(person.email)
    await page.getByLabel('Password').fill(password)
    await button(page, 'Sign in').click()
    await page.waitForURL(`${base}/settings`)
    const isSeen = async (selector: string) => {
      const box = await page.locator(selector).first().boundingBox()
      return box !== null && box.x >= 0 && box.x + box.width <= width
    }
    assert.ok(await isSeen('.sections [aria-current]'), `section, ${width}`)
    await page.locator('details.menu summary').click()
    assert.ok(await isSeen('.menu .panel'), `menu, ${width}`)
    const tops = await page
      .locator('.brand, .ribbon, .menu summary, .person form')
      .evaluateAll((all) =>
        all.map((one) => {
          const { top, bottom } = (
            one as unknown as { getBoundingClientRect(): { top: number; bottom: number } }
          ).getBoundingClientRect()
          return (top + bottom) / 2
        }),
      )
    assert.ok(Math.max(...tops) - Math.min(...tops) < 8, `one line, ${width}: ${tops}`)
  }
})

test('usage, plan, agents and the first steps fit 320, 768 and 1280 px in light and dark, without barriers', async () => {
  const person = await world.addPerson({ plan: 'developer' })
  const jar = await world.enter(person)
  await using visit = await browser.open({})
  const { page, complaints } = visit
  const base = world.service.baseUrl
  await page.goto(`${base}/sign-in?return=%2Fusage`)
  await page.getByLabel('E-mail address').fill(person.email)
  await page.getByLabel('Password').fill(password)
  await button(page, 'Sign in').click()
  await page.getByRole('heading', { name: 'Usage' }).waitFor()
  const look = async (place: string) => {
    for (const summary of await page.locator('summary').all()) await summary.click()
    await assertFits(page, place)
  }
  await look('/usage without requests')
  await addUsage(person)
  await connectAgent(world.service, jar, {
    name: 'AnAgentWhoseNameIsOneVeryLongWord'.repeat(2),
  })
  await jar.post('/simplefin/create', {
    ...(await jar.get('/simplefin/create')).hidden,
    name: 'Actual',
  })
  for (const path of [
    ...['/welcome', '/usage', '/plan', '/agents', '/events', '/simplefin/create'],
  ]) {
    await page.goto(base + path)
    await look(path)
  }
  assert.deepEqual(complaints, [])
})
