/** The frame of the operator's pages, and what they have in common. Rendering only. */
import type { Assets } from '../assets.ts'
import { type Html, type HtmlValue, html } from '../html.ts'
import { icon } from '../icons.ts'
import { hidden } from '../layout.ts'

export interface OperatorPage {
  readonly title: string
  readonly body: Html
  readonly path: string
  /** Null: nobody is signed in. */
  readonly formToken: string | null
}

const sections = [
  ['Doctor', '/', 'well'],
  ['People', '/people', 'person'],
  ['Invitations', '/invitations', 'keys'],
  ['Providers', '/providers', 'connections'],
  ['Queues', '/queues', 'webhooks'],
  ['Audit', '/audit', 'activity'],
] as const

export function renderFrame(
  { title, body, path, formToken }: OperatorPage,
  assets: Assets,
): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · Tributary operator</title>
<link rel="stylesheet" href="${assets.pico.path}">
<link rel="stylesheet" href="${assets.pages.path}">
<link rel="icon" href="${assets.icon.path}" type="image/svg+xml">
</head>
<body>
<a class="skip" href="#main">Skip to content</a>
<header class="container">
<div class="bar">
<a class="brand" href="/"><img src="${assets.icon.path}" alt="" width="24" height="24">Tributary</a>
<p class="ribbon"><strong>Operator</strong></p>
${formToken !== null && html`<div class="person"><form method="post" action="/sign-out">${hidden('formToken', formToken)}<button type="submit" class="outline secondary">Sign out</button></form></div>`}
</div>
${formToken !== null && renderSections(path)}
</header>
<main id="main" class="container">
${body}
</main>
</body>
</html>
`.toString()
}

function renderSections(path: string): Html {
  const mark = (target: string) => {
    if (path === target) return html` aria-current="page"`
    return target !== '/' && path.startsWith(`${target}/`) && html` aria-current="true"`
  }
  return html`<nav class="sections" aria-label="This installation">
<ul>${sections.map(([name, target, drawing]) => html`<li><a href="${target}"${mark(target)}>${icon(drawing)}${name}</a></li>`)}</ul>
</nav>`
}

/** The refusal of the admin API. */
export const renderProblem = (message: string): Html =>
  html`<p class="alert" role="alert">${message}</p>`

/** An instant as the admin API tells it, in UTC: the server has no zone of its own. */
export function renderUtc(iso: string | null, otherwise = 'never'): Html {
  if (iso === null) return html`${otherwise}`
  return html`<time datetime="${iso}">${iso.slice(0, 16).replace('T', ' ')} UTC</time>`
}

/** A line of a problem, in words and colour. */
export const highlight = (isBad: boolean, words: HtmlValue): Html =>
  isBad ? html`<strong class="trouble">${words}</strong>` : html`${words}`
