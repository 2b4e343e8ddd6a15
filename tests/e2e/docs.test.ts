/**
 * The interactive reference in a real browser: it shows every operation, wide and narrow, light and dark,
 * asks nobody but this server, and keeps no key that is typed into it.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import axe from 'axe-core'
import Fastify, { type FastifyInstance } from 'fastify'
import type { Page } from 'playwright-core'
import { makeOpenApi } from '#contract/openapi.ts'
import { operations } from '#contract/operations.ts'
import { docsDoor } from '#doors/docs/docs-door.ts'
import { startBrowser, type TestBrowser } from '#tests/support/browser.ts'

const canary = 'canary-key-3f9c'
const wide = { width: 1280, height: 900 }
const narrow = { width: 360, height: 780 }
const narrowest = { width: 320, height: 640 }

let browser: TestBrowser
let server: FastifyInstance
let origin: string
/** Authorization headers that reached the server outside the documentation. */
const authorizations: (string | undefined)[] = []

before(async () => {
  browser = await startBrowser()
  server = Fastify({ exposeHeadRoutes: false })
  const document = makeOpenApi({ baseUrl: 'https://api.tributary.test', version: '1.2.3' })
  await server.register(docsDoor, { document: () => document })
  server.get('/v1/connections', (request, reply) => {
    authorizations.push(request.headers.authorization)
    return reply.send({ data: [] })
  })
  origin = await server.listen({ host: '127.0.0.1', port: 0 })
})

after(async () => {
  await browser?.[Symbol.asyncDispose]()
  await server?.close()
})

async function openReference(page: Page, fragment = ''): Promise<void> {
  await page.goto(`${origin}/doc${fragment}`)
  await page.getByRole('heading', { name: 'Tributary', level: 1 }).waitFor({ timeout: 20_000 })
}

/** Findings of axe that make a page unusable for some people, as lines of text. */
async function findBarriers(page: Page): Promise<string[]> {
  await page.evaluate(axe.source)
  const results = await page.evaluate(() =>
    (globalThis as unknown as { axe: typeof axe }).axe.run({ resultTypes: ['violations'] }),
  )
  return results.violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.target.join(' ')}`))
}

test('every operation is shown, with its parameters and answers', async () => {
  await using visit = await browser.open({ viewport: wide })
  const { page, complaints } = visit
  await openReference(page)
  const navigation = page.getByRole('complementary', { name: /Sidebar/ })
  for (const { title } of operations) {
    await navigation.getByRole('link', { name: title }).first().click()
    await page.getByRole('heading', { name: title }).waitFor({ timeout: 20_000 })
  }
  const trades = page.getByRole('region', { name: 'List trades' }).first()
  for (const text of ['connectionId', 'accountIds', 'settlementDate', '429', '503']) {
    await trades.getByText(text).first().waitFor({ timeout: 20_000 })
  }
  assert.deepEqual(complaints, [])
})

for (const colorScheme of ['light', 'dark'] as const) {
  for (const viewport of [wide, narrow, narrowest]) {
    test(`the page fits ${viewport.width} px in ${colorScheme}, without barriers`, async () => {
      await using visit = await browser.open({ viewport, colorScheme })
      const { page, complaints } = visit
      await openReference(page)
      await page.getByText('Decimals are strings.').waitFor()
      const width = await page.evaluate('document.documentElement.scrollWidth')
      assert.equal(width, viewport.width)
      const background = String(
        await page.evaluate('getComputedStyle(document.body).backgroundColor'),
      )
      const [red = 0] = (background.match(/\d+/g) ?? []).map(Number)
      assert.equal(red < 128, colorScheme === 'dark', `background ${background}`)
      assert.deepEqual(await findBarriers(page), [])
      assert.deepEqual(complaints, [])
    })
  }
}

test('the page asks no other host, not even while a request is tried out', async () => {
  await using visit = await browser.open({ viewport: wide })
  const { page, asked, complaints } = visit
  await openReference(page)
  await tryConnections(page)
  assert.ok(asked.length > 5, asked.join('\n'))
  const strangers = asked.filter((url) => new URL(url).origin !== origin)
  assert.deepEqual(strangers, [])
  assert.deepEqual(complaints, [])
})

test('a key that is typed in goes to this server and is kept nowhere', async () => {
  await using visit = await browser.open({ viewport: wide })
  const { page } = visit
  await openReference(page)
  authorizations.length = 0
  await tryConnections(page)
  assert.deepEqual(authorizations, [`Bearer ${canary}`])
  await page.evaluate("localStorage.setItem('planted', 'found')")
  const kept = String(await page.evaluate(readEverythingKept))
  assert.match(kept, /"planted":"found"/)
  assert.ok(!kept.includes(canary), kept)
})

test('the policy of the page stops a script that calls another host', async () => {
  await using visit = await browser.open({ viewport: wide })
  const { page, complaints } = visit
  await openReference(page)
  const outcome = await page.evaluate(() =>
    fetch('http://127.0.0.1:9/').then(
      () => 'sent',
      () => 'stopped',
    ),
  )
  assert.equal(outcome, 'stopped')
  assert.match(complaints.join('\n'), /Content Security Policy/)
})

test('without JavaScript the page leads to the document', async () => {
  await using visit = await browser.open({ viewport: narrow, javaScriptEnabled: false })
  const { page } = visit
  await page.goto(`${origin}/doc`)
  await page.getByRole('heading', { name: 'Tributary API reference' }).waitFor()
  assert.equal(await page.getByText('Loading').isVisible(), false)
  await page.getByRole('link', { name: '/openapi.json' }).click()
  await page.waitForURL(`${origin}/openapi.json`)
})

/** Types the key, opens the form of the first operation and sends it. */
async function tryConnections(page: Page): Promise<void> {
  await page.getByLabel('Bearer Token').first().fill(canary)
  const connections = page.getByRole('region', { name: 'List connections' }).first()
  await connections.getByRole('button', { name: /Test Request/ }).click()
  const answer = page.waitForResponse(`${origin}/v1/connections`, { timeout: 20_000 })
  await page.getByRole('button', { name: /^Send/ }).last().click()
  assert.equal((await answer).status(), 200)
}

/** A script for the page: all that its origin has stored, as one text. */
const readEverythingKept = `(async () => {
  const done = (request) => new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
  const texts = [JSON.stringify({ ...localStorage }), JSON.stringify({ ...sessionStorage })]
  texts.push(document.cookie, location.href)
  for (const { name } of await indexedDB.databases()) {
    const database = await done(indexedDB.open(name))
    for (const store of database.objectStoreNames) {
      const rows = await done(database.transaction(store).objectStore(store).getAll())
      texts.push(JSON.stringify(rows))
    }
    database.close()
  }
  return texts.join('\\n')
})()`
