/** The looks at a page that other tests rely on: a fault of one look alone is found, and named with it. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startBrowser, type TestBrowser } from '#tests/support/browser.ts'
import { assertFits } from '#tests/support/looks.ts'

let browser: TestBrowser
before(async () => {
  browser = await startBrowser()
})
after(() => browser?.[Symbol.asyncDispose]())

/** A page with both themes, whose words change colour slowly. */
const toPage = (style: string) => `<!doctype html><html lang="en"><title>Words</title><style>
  html { background: #fff; color: #000 }
  h1, p { transition: color 60s }
  @media (prefers-color-scheme: dark) { html { background: #000; color: #fff } }
  ${style}</style><main><h1>Words</h1><p>More words</p></main>`

const faults = {
  '@media (max-width: 400px) { p { width: 500px } }': /at 320 px, light/,
  '@media (min-width: 500px) and (max-width: 900px) { p { color: #ddd } }':
    /color-contrast: p [\s\S]*at 768 px, light/,
  '@media (prefers-color-scheme: dark) { p { color: #222 } }':
    /color-contrast: p [\s\S]*at 1280 px, dark/,
  'html { background: #fff !important }': /the background, .* at 1280 px, dark/,
}

test('a page that is too wide, without contrast or in the wrong theme in one look alone is found in it', async () => {
  await using visit = await browser.open({})
  const { page } = visit
  await page.setContent(toPage(''))
  await assertFits(page, 'a good page')
  for (const [style, words] of Object.entries(faults)) {
    await page.setContent(toPage(style))
    await assert.rejects(assertFits(page, 'a page'), (error) => {
      assert.ok(error instanceof assert.AssertionError)
      assert.match(`${JSON.stringify(error.actual)} ${error.message}`, words)
      return true
    })
  }
})
