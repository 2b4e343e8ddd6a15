/**
 * One headless Chromium for the tests of pages. It can only reach this machine, so that a page that needs
 * another host fails; requests are recorded outside the page, where no script can hide them.
 */
import { existsSync } from 'node:fs'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'

export interface TestBrowser extends AsyncDisposable {
  /** A page in a new profile, with a record of what it does. */
  open(options: BrowserContextOptions): Promise<Visit>
}

/** Close it with `await using`: pages left open slow the next ones down. */
export interface Visit extends AsyncDisposable {
  readonly page: Page
  /** Every URL that the page requested over the network, web sockets included, in order. */
  readonly asked: readonly string[]
  /** Errors and warnings of the console (broken policies are among them) and uncaught exceptions. */
  readonly complaints: readonly string[]
}

/**
 * Starts the browser; throws with what to do when it is not installed. `hosts`: names of this machine that it
 * may reach beside 127.0.0.1.
 */
export async function startBrowser({
  hosts = [],
}: {
  readonly hosts?: readonly string[]
} = {}): Promise<TestBrowser> {
  const executablePath = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium'
  if (!existsSync(executablePath)) {
    throw new Error(`no Chromium at ${executablePath}: install it, or set CHROMIUM_PATH`)
  }
  const reached = ['127.0.0.1', ...hosts].map((host) => `EXCLUDE ${host}`).join(', ')
  const args = ['--no-sandbox', `--host-resolver-rules=MAP * ~NOTFOUND, ${reached}`]
  const browser = await chromium.launch({ executablePath, args })
  return {
    open: (options) => openPage(browser, options),
    [Symbol.asyncDispose]: () => browser.close(),
  }
}

async function openPage(browser: Browser, options: BrowserContextOptions): Promise<Visit> {
  const context = await browser.newContext(options)
  const page = await context.newPage()
  const asked: string[] = []
  const complaints: string[] = []
  const session = await context.newCDPSession(page)
  await session.send('Network.enable')
  session.on('Network.requestWillBeSent', ({ request }) => {
    if (!/^(?:data|blob):/.test(request.url)) asked.push(request.url)
  })
  session.on('Network.webSocketCreated', ({ url }) => asked.push(url))
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(error.message))
  return { page, asked, complaints, [Symbol.asyncDispose]: () => context.close() }
}
