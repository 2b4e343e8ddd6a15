/**
 * Looks at a page in a real browser: at each width in both themes it is no wider than the screen, its theme
 * is the one that was asked for, and axe finds no barrier of any impact. One load of a page serves all looks.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'

export interface Look {
  readonly width: number
  readonly colorScheme: 'light' | 'dark'
}

/** The narrowest is last, so that the test goes on from there as on a phone. */
export const everyLook: readonly Look[] = makeLooks([1280, 768, 320])

/** In the order of the widths, in both themes. */
export function makeLooks(widths: readonly number[]): readonly Look[] {
  return (['light', 'dark'] as const).flatMap((colorScheme) =>
    widths.map((width) => ({ width, colorScheme })),
  )
}

let axeSource: string | undefined

/** Everything that axe finds, as lines of text. */
export async function findBarriers(page: Page): Promise<readonly string[]> {
  const found = await page.evaluate<readonly string[] | null>(runAxe)
  if (found !== null) return found
  axeSource ??= readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8')
  await page.evaluate(axeSource)
  return page.evaluate<readonly string[]>(runAxe)
}

/** A script for the page; null where axe is not loaded. What passed is much and stays there. */
const runAxe = `typeof axe === 'undefined' ? null :
  axe.run({ resultTypes: ['violations'] }).then(({ violations }) => violations.flatMap(
    ({ id, nodes }) => nodes.map(({ target, html }) => id + ': ' + target.join(' ') + ' ' + html)))`

/** Calls `see` with the page in each of the looks, which is named in the words of a failure. */
export async function lookAt(
  page: Page,
  looks: readonly Look[],
  see: (name: string, look: Look) => Promise<void>,
): Promise<void> {
  for (const look of looks) {
    const { width, colorScheme } = look
    await page.emulateMedia({ colorScheme })
    await page.setViewportSize({ width, height: 800 })
    await page.evaluate(settled)
    await see(`${new URL(page.url()).pathname} at ${width} px, ${colorScheme}`, look)
  }
}

/** A script for the page: when its layout is that of the look, and colours that fade have faded. */
const settled = `new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => {
  for (const one of document.getAnimations()) if (one instanceof CSSTransition) one.finish()
  resolve()
})))`

/** @throws AssertionError unless the page has no barrier, and no line that leaves the screen, in any look. */
export async function assertFits(page: Page, place: string, looks = everyLook): Promise<void> {
  await lookAt(page, looks, async (name, { width, colorScheme }) => {
    assert.equal(await page.evaluate(readWidth), width, `${place}: ${name}`)
    const isDark = (await page.evaluate<number>(readRed)) < 128
    assert.equal(isDark, colorScheme === 'dark', `${place}: the background, ${name}`)
    assert.deepEqual(await findBarriers(page), [], `${place}: ${name}`)
  })
}

/** A script for the page: how wide it is, with what leaves the screen. */
export const readWidth = 'document.documentElement.scrollWidth'
const readRed =
  'Number(/\\d+/.exec(getComputedStyle(document.documentElement).backgroundColor)?.[0] ?? 0)'
