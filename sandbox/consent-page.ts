/**
 * The look of the pages that the emulators show to a browser: one calm layout that says whose made-up page it
 * is, with plain forms that work without JavaScript, by keyboard and on a narrow screen. What the pages ask,
 * and what follows, is the emulators' own.
 */
import { hash } from 'node:crypto'
import type { EmulatorReply } from './emulator.ts'

/** Finished HTML; only `markup` makes it. */
export class Markup {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

type MarkupValue = string | number | Markup | null | false | readonly MarkupValue[]

/** The template tag: values are escaped, except its own results. Null and false render nothing. */
export function markup(strings: TemplateStringsArray, ...values: readonly MarkupValue[]): Markup {
  let text = strings[0] ?? ''
  for (const [index, value] of values.entries()) text += render(value) + (strings[index + 1] ?? '')
  return new Markup(text)
}

function render(value: MarkupValue): string {
  if (value === null || value === false) return ''
  if (value instanceof Markup) return value.text
  if (typeof value === 'object') return value.map(render).join('')
  return String(value).replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`)
}

const style = `
:root { color-scheme: light dark; --ink: #1d2430; --soft: #5a6472; --paper: #f4f1f8; --card: #fff; --line: #8a8496; --deed: #5b3a8c; --alarm: #a3201a }
@media (prefers-color-scheme: dark) { :root { --ink: #eceaf2; --soft: #b4afc2; --paper: #17141d; --card: #221d2b; --line: #857d96; --deed: #c3a6f0; --alarm: #ffb4ab } }
* { box-sizing: border-box }
body { margin: 0; padding: 1rem; background: var(--paper); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif }
header, main { max-width: 34rem; margin: 0 auto }
header { padding: .5rem 0; color: var(--soft); font-size: .95rem }
header strong { color: var(--ink) }
main { padding: 1.25rem; background: var(--card); border: 1px solid var(--line); border-radius: .75rem; overflow-wrap: anywhere }
h1 { margin: 0 0 .75rem; font-size: 1.4rem; line-height: 1.25 }
h2 { margin: 1.5rem 0 .5rem; font-size: 1.05rem }
p { margin: 0 0 .9rem }
.soft { color: var(--soft) }
.alert { padding: .6rem .8rem; border-left: .25rem solid var(--alarm); color: var(--alarm) }
label { display: block }
input[type=email], input[type=text] { width: 100%; margin: .25rem 0 1rem; padding: .55rem .7rem; border: 1px solid var(--line); border-radius: .5rem; background: var(--card); color: var(--ink); font: inherit }
fieldset { margin: 0 0 1rem; padding: 0; border: 0 }
legend { padding: 0; margin-bottom: .25rem; font-weight: 600 }
.pick { display: flex; gap: .6rem; align-items: baseline; padding: .4rem 0 }
.deeds { display: flex; flex-wrap: wrap; gap: .6rem; margin: 0 0 .5rem }
button { padding: .6rem 1rem; border: 1px solid var(--line); border-radius: .5rem; background: transparent; color: var(--ink); font: inherit; cursor: pointer }
button.main { border-color: var(--deed); background: var(--deed); color: var(--card); font-weight: 600 }
summary { padding: .4rem 0; cursor: pointer }
:focus-visible { outline: .2rem solid var(--deed); outline-offset: .15rem }
`

const styleHash = hash('sha256', style, 'base64')
const headers = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${styleHash}'; img-src data:; base-uri 'none'; frame-ancestors 'none'`,
}

/** A page of the provider of this name. */
export function showPage(page: {
  readonly provider: string
  readonly title: string
  readonly content: Markup
  readonly status?: number
}): EmulatorReply {
  const { provider, title, content, status = 200 } = page
  const body = markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} – ${provider} sandbox</title>
<link rel="icon" href="data:,">
<style>${new Markup(style)}</style>
</head>
<body>
<header><strong>${provider} sandbox.</strong> This provider is made up: no bank or broker is asked, and nothing that is typed here leaves this machine.</header>
<main>
<h1>${title}</h1>
${content}
</main>
</body>
</html>
`
  return { status, headers, body: body.text }
}

/** A page that ends here: what happened, without a way on. */
export function showEnd(provider: string, title: string, text: string): EmulatorReply {
  return showPage({ provider, title, status: 400, content: markup`<p>${text}</p>` })
}

/** Sends the browser on; the address keeps the query that it came with. */
export function leaveTo(address: string, added: Readonly<Record<string, string>>): EmulatorReply {
  const url = new URL(address)
  for (const [name, value] of Object.entries(added)) url.searchParams.set(name, value)
  return { status: 303, headers: { location: url.href, 'cache-control': 'no-store' }, body: '' }
}

/** One of several, the first of them chosen at first. */
export function choose(
  name: string,
  legend: string,
  options: readonly { readonly value: string; readonly label: string }[],
): Markup {
  const picks = options.map(
    ({ value, label }, index) =>
      markup`<label class="pick"><input type="radio" name="${name}" value="${value}"${index === 0 && markup` checked`}> ${label}</label>`,
  )
  return markup`<fieldset><legend>${legend}</legend>${picks}</fieldset>`
}

/** A switch that is off at first. */
export function tick(name: string, label: string): Markup {
  return markup`<label class="pick"><input type="checkbox" name="${name}" value="on"> ${label}</label>`
}

/** Buttons of one form, each with its decision; the first is the main one where `hasMain`. */
export function decide(
  decisions: readonly (readonly [decision: string, label: string])[],
  hasMain = false,
): Markup {
  const buttons = decisions.map(
    ([decision, label], index) =>
      markup`<button type="submit" name="decision" value="${decision}"${hasMain && index === 0 && markup` class="main"`}>${label}</button>`,
  )
  return markup`<div class="deeds">${buttons}</div>`
}

/** What else can happen, out of the way of those who want to link. */
export function others(content: Markup): Markup {
  return markup`<details><summary>Try what can go wrong</summary>${content}</details>`
}

/** Fields that a form carries unseen. */
export function carry(fields: Readonly<Record<string, string>>): Markup {
  return markup`${Object.entries(fields).map(
    ([name, value]) => markup`<input type="hidden" name="${name}" value="${value}">`,
  )}`
}

/**
 * Whether a browser may be sent there: `https`, or `http` on this machine, without user-info and fragment.
 */
export function isReturnAddress(text: unknown): text is string {
  const url = typeof text === 'string' && text.length <= 4_096 ? URL.parse(text) : null
  if (url === null || url.username !== '' || url.password !== '' || url.hash !== '') return false
  const isLocal = ['127.0.0.1', '[::1]', 'localhost'].includes(url.hostname)
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLocal)
}
