/**
 * The icons of the pages: outlines of one set (docs/dependencies.md), drawn into the page so that they take
 * its colours. They decorate; the words beside them say what they stand for.
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type Html, html } from './html.ts'

/** Our names, and those of the files. */
const files = {
  overview: 'home',
  money: 'banknotes',
  connections: 'building-library',
  keys: 'key',
  webhooks: 'bolt',
  agents: 'sparkles',
  usage: 'chart-bar',
  activity: 'clock',
  settings: 'cog-6-tooth',
  plan: 'credit-card',
  person: 'user-circle',
  docs: 'book-open',
  search: 'magnifying-glass',
  download: 'arrow-down-tray',
  well: 'check-circle',
  trouble: 'exclamation-triangle',
  hidden: 'eye-slash',
  shown: 'eye',
  in: 'arrow-down-left',
  out: 'arrow-up-right',
} as const

export type IconName = keyof typeof files

const { resolve } = createRequire(import.meta.url)
const drawn = new Map<IconName, Html>()

/** The icon as inline SVG, read from its package at the first use. */
export function icon(name: IconName): Html {
  const known = drawn.get(name)
  if (known !== undefined) return known
  const text = readFileSync(resolve(`heroicons/24/outline/${files[name]}.svg`), 'utf8')
  const paths = [...text.matchAll(/ d="([^"]+)"/g)].map(([, path = '']) => path)
  if (paths.length === 0) throw new Error(`no path in the icon ${files[name]}`)
  const made = html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true">${paths.map((path) => html`<path d="${path}"/>`)}</svg>`
  drawn.set(name, made)
  return made
}
