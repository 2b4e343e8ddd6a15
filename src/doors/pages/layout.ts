/** The layout of every page, and the small parts that forms consist of. */

import { timezoneOf } from '#auth/caller.ts'
import type { UserRow } from '#store/ports/users.ts'
import type { Assets } from './assets.ts'
import { foreignText, type Html, type HtmlValue, html } from './html.ts'
import { icon } from './icons.ts'

export interface PageOptions {
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
  readonly interruption?: Interruption | undefined
  /** There is a mail server: an address that is not confirmed is asked about. */
  readonly confirmsAddresses?: boolean | undefined
  /** The navigation is shown without a session: the browser has a cookie of one. */
  readonly hasSections?: boolean | undefined
  /** All data on this server is made up. */
  readonly isSandbox?: boolean | undefined
  /** The form that led here was refused: the title says so first. */
  readonly isRefused?: boolean | undefined
}

/** What became of the fields of the form that was interrupted. */
export type Interruption = 'kept' | 'lost'

export function renderPage(options: PageOptions, assets: Assets): string {
  const { title, visit, body, home = '/', isRefused = false } = options
  const isSignedIn = visit !== null && visit.user !== null
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="theme-color" content="#f6f8fa" media="(prefers-color-scheme: light)">
<meta name="theme-color" content="#12171c" media="(prefers-color-scheme: dark)">
<title>${isRefused && 'Error: '}${title} · Tributary</title>
<link rel="stylesheet" href="${assets.pico.path}">
<link rel="stylesheet" href="${assets.pages.path}">
<link rel="icon" href="${assets.icon.path}" type="image/svg+xml">
<link rel="apple-touch-icon" href="${assets.touchIcon.path}">
${visit !== null && html`<script src="${assets.script.path}" defer></script>`}
</head>
<body>
<a class="skip" href="#main">Skip to content</a>
<header class="container">
<div class="bar">
<a class="brand" href="${home}"><img src="${assets.icon.path}" alt="" width="24" height="24"><span>Tributary</span></a>
${options.isSandbox === true && html`<p class="ribbon"><strong>Sandbox</strong> <span>all data is made up</span></p>`}
${visit !== null && renderAccountLinks(visit)}
</div>
${(isSignedIn || options.hasSections === true) && renderSections(options)}
</header>
<main id="main" class="container">
${options.confirmsAddresses === true && renderUnconfirmed(options)}
${options.interruption !== undefined && alertBox(interruptions[options.interruption])}
${body}
</main>
${isSignedIn && renderFooter(visit.user)}
</body>
</html>
`.toString()
}

const interruptions: Readonly<Record<Interruption, string>> = {
  kept: 'Nothing was changed, because you had to sign in first. What you typed is filled in again: check it and send it once more.',
  lost: 'Nothing was changed, because you had to sign in first. Fill in the form again.',
}

/** Pages about the confirmation itself, where the banner would only invalidate the link that is open. */
const confirmationPages = /^\/(?:confirm-address|address-confirmed)(?:\/|$)/

/** Nothing is withheld until then but notices by mail. */
function renderUnconfirmed({ visit, path = '' }: PageOptions): Html | null {
  if (visit === null || visit.user === null || visit.user.emailConfirmedAt !== null) return null
  if (confirmationPages.test(path)) return null
  return html`<aside class="unconfirmed" aria-label="Your address">
<p>Confirm <strong>${visit.user.email}</strong> with the link in our mail, so that we can tell you when a connection needs you.</p>
<form method="post" action="/confirm-address">${hidden('token', visit.formToken)}
<button type="submit" class="outline secondary">Send the link again</button></form>
</aside>`
}

/** The pages of a signed-in person, in the order of their use. */
const sections = [
  ['Overview', '/', 'overview'],
  ['Money', '/money', 'money'],
  ['Connections', '/connections', 'connections'],
  ['Keys', '/keys', 'keys'],
  ['Webhooks', '/webhooks', 'webhooks'],
  ['Agents', '/agents', 'agents'],
  ['Usage', '/usage', 'usage'],
  ['Activity', '/activity', 'activity'],
  ['Settings', '/settings', 'settings'],
] as const

/** In the navigation where plans are sold. */
const planSection = ['Plan', '/plan', 'plan'] as const

function renderSections({ path = '', plansAreSold = false }: PageOptions): Html {
  const shown = plansAreSold ? [...sections, planSection] : sections
  return html`<nav class="sections" aria-label="Your account">
<ul>${shown.map(([name, target, drawing]) => html`<li><a href="${target}"${markCurrent(path, target)}>${icon(drawing)}${name}</a></li>`)}</ul>
</nav>`
}

/** The section of a page: `page` on its first page, `true` on those below it (WAI-ARIA, aria-current). */
function markCurrent(path: string, target: string): Html | false {
  if (path === target) return html` aria-current="page"`
  return target !== '/' && path.startsWith(`${target}/`) && html` aria-current="true"`
}

function renderAccountLinks({ user, formToken }: NonNullable<PageOptions['visit']>): Html {
  if (user === null) {
    return html`<nav class="account" aria-label="Account"><ul><li><a href="/guides">Docs</a></li><li><a href="/sign-in">Sign in</a></li></ul></nav>`
  }
  return html`<div class="person">
<details class="menu">
<summary>${icon('person')}<span class="foreign">${foreignText(user.name ?? user.email, 30)}</span></summary>
<div class="panel">
<ul>
<li><a href="/settings">${icon('settings')}Settings</a></li>
<li><a href="/guides">${icon('docs')}Guides</a></li>
<li><a href="/doc">${icon('docs')}API reference</a></li>
</ul>
</div>
</details>
<form method="post" action="/sign-out">${hidden('token', formToken)}<button type="submit" class="outline secondary">Sign out</button></form>
</div>`
}

function renderFooter({ timezone }: UserRow): Html {
  return html`<footer class="container">
<p><small>Times are those of ${timezoneOf(timezone)}. <a href="/settings">Change the time zone</a></small></p>
</footer>`
}

/** A link that looks like a button: it leads somewhere and changes nothing. */
export function leadingButton(
  path: string,
  text: HtmlValue,
  { look = '', label }: { readonly look?: string; readonly label?: string } = {},
): Html {
  return html`<a href="${path}" class="${`button ${look}`.trim()}"${label !== undefined && html` aria-label="${label}"`}>${text}</a>`
}

export function hidden(name: string, value: string): Html {
  return html`<input type="hidden" name="${name}" value="${value}">`
}

/** The browser's own time zone, filled in by the script (enhance.js); without it the field stays empty. */
export const timezoneField = html`<input type="hidden" name="timezone" value="" data-fill="timezone">`

export interface FieldOptions {
  readonly name: string
  readonly label: HtmlValue
  readonly type: 'text' | 'email' | 'password' | 'date' | 'url'
  readonly autocomplete: string
  readonly value?: string
  readonly hint?: string
  readonly problem?: string | undefined
  /** The id of a sentence elsewhere on the page that says what is wrong. */
  readonly problemAt?: string | undefined
  readonly autofocus?: boolean
  /** The id of the `<datalist>` with suggestions. */
  readonly list?: string
  /** An empty value is allowed. */
  readonly isOptional?: boolean
  /** It can be read and not changed. */
  readonly isFixed?: boolean
}

/**
 * A labelled field; its problem, or else its hint, is linked to it for assistive technology. Browsers focus
 * the first field with a problem, wherever on the page it is.
 */
export function field(options: FieldOptions): Html {
  const { name, problem, problemAt } = options
  const hint = problem === undefined ? options.hint : undefined
  const described =
    problem !== undefined
      ? `${name}-problem`
      : (problemAt ?? (hint !== undefined ? `${name}-hint` : ''))
  return html`<div class="field">
<label for="${name}">${options.label}</label>
<input id="${name}" name="${name}" type="${options.type}" autocomplete="${options.autocomplete}"${options.list !== undefined && html` list="${options.list}"`}${options.isOptional !== true && html` required`} value="${options.value ?? ''}"${described !== '' && html` aria-describedby="${described}"`}${(problem ?? problemAt) !== undefined && html` aria-invalid="true"`}${options.isFixed === true && html` readonly`}${(options.autofocus ?? problem !== undefined) && html` autofocus`}>
${problem !== undefined && html`<small class="problem" id="${name}-problem">${problem}</small>`}
${hint !== undefined && html`<small id="${name}-hint">${hint}</small>`}
</div>`
}

/** What was done just now; screen readers announce it. */
export function doneBox(sentence: HtmlValue): Html | null {
  return sentence === null ? null : html`<p class="done" role="status">${sentence}</p>`
}

/**
 * A problem with the form as a whole; screen readers announce it at once. `hasFocus`: the form is far down on
 * its page, and the browser scrolls to the problem.
 */
export function alertBox(
  message: string | null,
  { hasFocus = false, id }: { readonly hasFocus?: boolean; readonly id?: string } = {},
): Html | null {
  if (message === null) return null
  return html`<p class="alert"${id !== undefined && html` id="${id}"`}${hasFocus && html` tabindex="-1" autofocus`} role="alert">${message}</p>`
}
