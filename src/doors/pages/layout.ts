/** The layout of every page, and the small parts that forms consist of. */
import type { UserRow } from '#store/ports/users.ts'
import type { Assets } from './assets.ts'
import { type Html, type HtmlValue, html } from './html.ts'

export interface PageParts {
  readonly title: string
  /** Null: the session was not looked up (a failure). */
  readonly visit: { readonly user: UserRow | null; readonly formToken: string } | null
  readonly body: Html
  /** Target of the logo link; the start page when undefined. */
  readonly home?: string | undefined
  /** The path of the page, without its query: the navigation highlights the section that it belongs to. */
  readonly path?: string | undefined
  /** Plans are sold on this installation: the navigation has the page of the plan. */
  readonly plansAreSold?: boolean | undefined
  /** The page follows a sign-in that a form was interrupted by. */
  readonly followsInterruption?: boolean | undefined
  /** There is a mail server: an address that is not confirmed is asked about. */
  readonly confirmsAddresses?: boolean | undefined
}

/** The whole document. */
export function renderPage(parts: PageParts, assets: Assets): string {
  const { title, visit, body, home = '/' } = parts
  const isSignedIn = visit !== null && visit.user !== null
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · Tributary</title>
<link rel="stylesheet" href="${assets.pico.path}">
<link rel="stylesheet" href="${assets.pages.path}">
<link rel="icon" href="${assets.icon.path}" type="image/svg+xml">
${isSignedIn && html`<script src="${assets.script.path}" defer></script>`}
</head>
<body>
<a class="skip" href="#main">Skip to content</a>
<header class="container">
<nav aria-label="Main">
<ul><li><a class="brand" href="${home}"><img src="${assets.icon.path}" alt="" width="24" height="24">Tributary</a></li></ul>
<ul>${visit !== null && renderAccountLinks(visit)}</ul>
</nav>
${isSignedIn && renderSections(parts)}
</header>
<main id="main" class="container">
${parts.confirmsAddresses === true && renderUnconfirmed(visit)}
${parts.followsInterruption === true && alertBox('Nothing was changed, because you had to sign in first. Fill in the form again.')}
${body}
</main>
</body>
</html>
`.toString()
}

/** Nothing is withheld until then but notices by mail. */
function renderUnconfirmed(visit: PageParts['visit']): Html | null {
  if (visit === null || visit.user === null || visit.user.emailConfirmedAt !== null) return null
  return html`<aside class="unconfirmed" aria-label="Your address">
<p>Confirm <strong>${visit.user.email}</strong> with the link in our mail, so that we can tell you when a connection needs you.</p>
<form method="post" action="/confirm-address">${hidden('token', visit.formToken)}
<button type="submit" class="outline secondary">Send the link again</button></form>
</aside>`
}

/** The pages of a signed-in person, in the order of their use. */
const sections = [
  ['Overview', '/'],
  ['Connections', '/connections'],
  ['Keys', '/keys'],
  ['Webhooks', '/webhooks'],
  ['Agents', '/agents'],
  ['Usage', '/usage'],
  ['Activity', '/activity'],
  ['Settings', '/settings'],
] as const

/** In the navigation where plans are sold. */
const planSection = ['Plan', '/plan'] as const

function renderSections({ path = '', plansAreSold = false }: PageParts): Html {
  const shown = plansAreSold ? [...sections, planSection] : sections
  return html`<nav class="sections" aria-label="Your account">
<ul>${shown.map(([name, target]) => html`<li><a href="${target}"${markCurrent(path, target)}>${name}</a></li>`)}</ul>
</nav>`
}

/** The section of a page: `page` on its first page, `true` on those below it (WAI-ARIA, aria-current). */
function markCurrent(path: string, target: string): Html | false {
  if (path === target) return html` aria-current="page"`
  return target !== '/' && path.startsWith(`${target}/`) && html` aria-current="true"`
}

function renderAccountLinks({ user, formToken }: NonNullable<PageParts['visit']>): Html {
  if (user === null) {
    return html`<li><a href="/doc">Docs</a></li><li><a href="/sign-in">Sign in</a></li>`
  }
  return html`<li><a href="/doc">Docs</a></li>
<li><form method="post" action="/sign-out">${hidden('token', formToken)}
<button type="submit" class="outline secondary">Sign out</button></form></li>`
}

export function hidden(name: string, value: string): Html {
  return html`<input type="hidden" name="${name}" value="${value}">`
}

export interface FieldParts {
  readonly name: string
  readonly label: string
  readonly type: 'text' | 'email' | 'password' | 'date' | 'url'
  readonly autocomplete: string
  readonly value?: string
  readonly hint?: string
  readonly problem?: string | undefined
  readonly autofocus?: boolean
  /** The id of the `<datalist>` with suggestions. */
  readonly list?: string
  /** An empty value is allowed. */
  readonly isOptional?: boolean
  /** It can be read and not changed. */
  readonly isFixed?: boolean
}

/** A labelled field; its problem, or else its hint, is linked to it for assistive technology. */
export function field(parts: FieldParts): Html {
  const { name, problem } = parts
  const hint = problem === undefined ? parts.hint : undefined
  const described =
    problem !== undefined ? `${name}-problem` : hint !== undefined ? `${name}-hint` : ''
  return html`<div class="field">
<label for="${name}">${parts.label}</label>
<input id="${name}" name="${name}" type="${parts.type}" autocomplete="${parts.autocomplete}"${parts.list !== undefined && html` list="${parts.list}"`}${parts.isOptional !== true && html` required`} value="${parts.value ?? ''}"${described !== '' && html` aria-describedby="${described}"`}${problem !== undefined && html` aria-invalid="true"`}${parts.isFixed === true && html` readonly`}${parts.autofocus === true && html` autofocus`}>
${problem !== undefined && html`<small class="problem" id="${name}-problem">${problem}</small>`}
${hint !== undefined && html`<small id="${name}-hint">${hint}</small>`}
</div>`
}

/** What was done just now; screen readers announce it. */
export function doneBox(sentence: HtmlValue): Html | null {
  return sentence === null ? null : html`<p class="done" role="status">${sentence}</p>`
}

/** A problem with the form as a whole; screen readers announce it at once. */
export function alertBox(message: string | null): Html | null {
  return message === null ? null : html`<p class="alert" role="alert">${message}</p>`
}
