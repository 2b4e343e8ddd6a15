/**
 * What a browser calls itself (`User-Agent`), in plain words: the browser and the system, as far as the text
 * says. It is a claim of the sender and decides nothing.
 */
import { foreignText } from '../html.ts'

/** In this order: many browsers also name those that they are built on. */
const browsers = [
  ['Edge', /\bEdg(?:e|A|iOS)?\//],
  ['Opera', /\bOPR\//],
  ['Samsung Internet', /\bSamsungBrowser\//],
  ['Firefox', /\b(?:Firefox|FxiOS)\//],
  ['Chrome', /\b(?:Chrome|CriOS|HeadlessChrome)\//],
  ['Safari', /\bSafari\//],
] as const

const systems = [
  ['iPhone', /\biPhone\b/],
  ['iPad', /\biPad\b/],
  ['Android', /\bAndroid\b/],
  ['ChromeOS', /\bCrOS\b/],
  ['Windows', /\bWindows\b/],
  ['macOS', /\bMac(?:intosh| OS X)\b/],
  ['Linux', /\bLinux\b/],
] as const

/** Characters that are shown of a text that names no browser. */
const maxShown = 60

export function describeAgent(agent: string | null): string {
  if (agent === null) return 'Unknown browser'
  const browser = browsers.find(([, pattern]) => pattern.test(agent))?.[0]
  const system = systems.find(([, pattern]) => pattern.test(agent))?.[0]
  if (browser === undefined) return foreignText(agent, maxShown)
  return system === undefined ? browser : `${browser} on ${system}`
}
