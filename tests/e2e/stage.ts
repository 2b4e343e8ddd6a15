/** A service and one browser for all tests of a file; both are closed after them. */
import { after } from 'node:test'
import { startBrowser } from '#tests/support/browser.ts'

export async function openInBrowser<World extends { close(): Promise<void> }>(
  start: () => Promise<World>,
  options?: Parameters<typeof startBrowser>[0],
) {
  const browser = await startBrowser(options)
  after(() => browser[Symbol.asyncDispose]())
  const world = await start()
  after(() => world.close())
  return { world, browser }
}
