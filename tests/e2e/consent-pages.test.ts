/**
 * The consent pages of the emulators in a real browser: each is readable on a narrow screen, light and dark,
 * without barriers and without scripts, and leads back to the app.
 */
import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { newId, type UserId } from '#kernel/ids.ts'
import { makeAdapters } from '#providers/adapters.ts'
import type { LinkingRequest } from '#providers/linking.ts'
import type { Adapter, CallContext, Login } from '#providers/port.ts'
import { type Sandbox, startSandbox } from '#sandbox/start.ts'
import { startBrowser, type TestBrowser } from '#tests/support/browser.ts'
import { findBarriers } from '#tests/support/looks.ts'
import { openReadings } from '#tests/support/readings.ts'

const clock = { now: () => Date.now() }
const call: CallContext = { signal: new AbortController().signal, priority: 'user' }
const user = { userId: newId<UserId>(), email: 'emma@example.test', name: 'Emma' }

let sandbox: Sandbox
let browser: TestBrowser
/** The app to which the browser returns. */
let app: Server
let returnUrl: string
let adapters: Readonly<Partial<Record<string, Adapter>>>

before(async () => {
  sandbox = await startSandbox({ clock })
  browser = await startBrowser()
  app = createServer((_request, response) => response.end('Back in the app.'))
  await new Promise<void>((resolve) => app.listen(0, '127.0.0.1', resolve))
  returnUrl = `http://127.0.0.1:${(app.address() as AddressInfo).port}/providers/callback`
  adapters = makeAdapters({
    access: sandbox.access,
    timeoutMs: 10_000,
    clock,
    report: { exchange: () => {}, alert: ({ detail }) => assert.fail(detail), oddity: () => {} },
    budget: () => async () => ({ allowed: true }),
    readings: openReadings(clock),
  })
})
after(async () => {
  await browser?.[Symbol.asyncDispose]()
  await Promise.all(Object.values(adapters ?? {}).map((adapter) => adapter?.close()))
  await sandbox?.close()
  app?.closeAllConnections()
  await new Promise((resolve) => app?.close(resolve))
})

/** The address of a provider's page, for somebody who has never linked there. */
async function begin(provider: string): Promise<string> {
  const { linking } = adapters[provider] ?? {}
  assert.ok(linking !== undefined)
  const made = await linking.register?.(user, call)
  const login: Login | null = made === undefined ? null : { id: newId(), version: 1, ...made }
  const none = { institutionId: null, renews: null }
  const request: LinkingRequest = { user, login, state: 'a-state', returnUrl, ...none }
  return (await linking.begin(request, call)).address
}

const pages = [
  { provider: 'fiskil', agree: 'Allow', leave: 'Deny', left: /error_type=CONSENT_ENDUSER_DENIED/ },
  { provider: 'akahu', agree: 'Allow', leave: 'Deny', left: /error=access_denied&state=a-state/ },
  { provider: 'snaptrade', agree: 'Connect', leave: 'Leave', left: /status=ABANDONED/ },
] as const

for (const { provider, agree, leave, left } of pages) {
  test(`the page of ${provider} is readable at 320 px, light and dark, and says that it is made up`, async () => {
    for (const colorScheme of ['light', 'dark'] as const) {
      await using visit = await browser.open({ viewport: { width: 320, height: 700 }, colorScheme })
      const { page } = visit
      await page.goto(await begin(provider))
      await page.getByText('This provider is made up').waitFor()
      await page.getByText('Try what can go wrong').click()
      const width = await page.evaluate<number>('document.documentElement.scrollWidth')
      assert.ok(width <= 320, `${width} px wide`)
      assert.deepEqual(await findBarriers(page), [])
      assert.deepEqual(visit.complaints, [])
    }
  })

  test(`at ${provider} a person agrees or leaves with the keyboard, without scripts`, async () => {
    await using visit = await browser.open({ javaScriptEnabled: false })
    const { page } = visit
    for (const [name, back] of [
      [agree, /(code|connection_id|session_id)=/],
      [leave, left],
    ] as const) {
      await page.goto(await begin(provider))
      await page.getByRole('button', { name, exact: true }).focus()
      await Promise.all([page.waitForURL(/\/providers\/callback/), page.keyboard.press('Enter')])
      assert.match(page.url(), back)
    }
  })
}
