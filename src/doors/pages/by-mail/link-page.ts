/** The pages that mailed links open, and those that ask for one. Rendering only. */
import type { VoidReason } from '#auth/sign-in/single-use.ts'
import { type Html, html } from '../html.ts'
import { alertBox, field, hidden, timezoneField } from '../layout.ts'

export interface ForgotOptions {
  readonly formToken: string
  readonly email: string
  readonly message: string | null
}

export function renderForgot({ formToken, email, message }: ForgotOptions): Html {
  return html`<article class="card">
<h1>Forgot your password?</h1>
<p>Give the address of your account. You get a link to choose a new password.</p>
${alertBox(message)}
<form method="post" action="/forgot-password" novalidate>
${hidden('token', formToken)}
${field({ name: 'email', label: 'E-mail address', type: 'email', autocomplete: 'username', value: email, autofocus: true })}
<button type="submit">Send the link</button>
</form>
<p><a href="/sign-in">Back to the sign-in</a></p>
</article>`
}

/** The same whether there is such an account or not. */
export function renderAsked(isMailed: boolean): Html {
  const how = isMailed
    ? html`<p>If there is an account with that address, a mail with a link is on its way. It is valid for an hour.</p>`
    : html`<p>This server sends no mail. If there is an account with that address, its operator finds a link in the log of the server and can hand it to you. It is valid for an hour.</p>`
  return html`<article class="card">
<h1>Check your mail</h1>
${how}
<p><a href="/sign-in">Back to the sign-in</a></p>
</article>`
}

export interface ChooseOptions {
  readonly formToken: string
  readonly path: string
  readonly email: string
  readonly replaces: boolean
  readonly problem?: string | undefined
  readonly message: string | null
}

/** Before a link that ends an account whose address nobody has confirmed. */
function renderReplaces(): Html {
  return html`<p class="alert">Nobody has confirmed this address yet, so somebody else may have made the account. You get a new one, and everything in the present one ends: connections, API keys, agents, webhooks, second factor and settings. If you made it and know its password, <a href="/sign-in">sign in</a> and confirm the address instead: then everything stays.</p>`
}

export function renderChoose(options: ChooseOptions): Html {
  return html`<article class="card">
<h1>Choose a new password</h1>
<p>For the account of <strong>${options.email}</strong>. All browsers are signed out.</p>
${options.replaces && renderReplaces()}
${alertBox(options.message)}
<form method="post" action="${options.path}" novalidate>
${hidden('token', options.formToken)}
${field({ name: 'newPassword', label: 'New password', type: 'password', autocomplete: 'new-password', hint: 'At least 10 characters. Length is what counts.', problem: options.problem, autofocus: true })}
<button type="submit">Set password</button>
</form>
</article>`
}

export function renderChanged(): Html {
  return html`<article class="card">
<h1>Your password is changed</h1>
<p>All browsers were signed out. Sign in with the new password.</p>
<p><a href="/sign-in">Sign in</a></p>
</article>`
}

export interface InvitedOptions {
  readonly formToken: string
  readonly path: string
  readonly email: string
  readonly replaces: boolean
  readonly name: string
  readonly problems: Readonly<Partial<Record<'name' | 'password', string>>>
  readonly message: string | null
}

export function renderInvited({ problems, ...options }: InvitedOptions): Html {
  const first = problems.name === undefined && problems.password !== undefined ? 'password' : 'name'
  return html`<article class="card">
<h1>Create account</h1>
<p>You are invited to this server.</p>
${options.replaces && renderReplaces()}
${alertBox(options.message)}
<form method="post" action="${options.path}" novalidate>
${hidden('token', options.formToken)}${timezoneField}
${field({ name: 'name', label: 'Name', type: 'text', autocomplete: 'name', value: options.name, problem: problems.name, autofocus: first === 'name' })}
${field({ name: 'email', label: 'E-mail address', type: 'email', autocomplete: 'username', value: options.email, hint: 'The address that was invited.', isFixed: true })}
${field({ name: 'password', label: 'Password', type: 'password', autocomplete: 'new-password', hint: 'At least 10 characters. Length is what counts.', problem: problems.password, autofocus: first === 'password' })}
<button type="submit">Create account</button>
</form>
</article>`
}

export interface ConfirmOptions {
  readonly formToken: string
  readonly path: string
  readonly email: string
  /** Who is signed in: nobody, the owner of the account, or the address of somebody else. */
  readonly reader: string
}

/** Only who is signed in to the account can confirm: whoever has the mail alone may not have made it. */
export function renderConfirm(options: ConfirmOptions): Html {
  return html`<article class="card">
<h1>Confirm your address</h1>
${renderConfirmStep(options)}
</article>`
}

function renderConfirmStep({ formToken, path, email, reader }: ConfirmOptions): Html {
  const form = html`<form method="post" action="${path}">
${hidden('token', formToken)}
<button type="submit">${reader === 'owner' ? 'Confirm address' : 'Sign in and confirm'}</button>
</form>`
  if (reader === 'owner') {
    return html`<p>Is <strong>${email}</strong> yours? Then notices about your connections and keys are sent there.</p>
${form}`
  }
  return html`${
    reader === 'nobody'
      ? html`<p>Is <strong>${email}</strong> yours, and did you make the account? Sign in to it and confirm the address.</p>
${form}`
      : html`<p>You are signed in as <strong>${reader}</strong>. To confirm <strong>${email}</strong>, sign out, open this link again and sign in to its account.</p>`
  }
<p>Did somebody else make the account with your address? <a href="/forgot-password">Choose a password by mail</a>: you get a new account, and everything in theirs ends.</p>`
}

export function renderConfirmed(): Html {
  return html`<article class="card">
<h1>Your address is confirmed</h1>
<p>Notices about your connections and keys are sent there from now on.</p>
<p><a href="/">Go to your account</a></p>
</article>`
}

export const sentAgain = {
  sent: 'A new link is on its way; earlier ones no longer work.',
  later: 'Several links were sent within the last hour. Look for the newest, or try again later.',
} as const

/** After the link of a confirmation was asked for again. */
export function renderSentAgain(done: keyof typeof sentAgain): Html {
  return html`<article class="card">
<h1>Confirm your address</h1>
<p>${sentAgain[done]}</p>
<p><a href="/">Back to the start</a></p>
</article>`
}

const reasons: Readonly<Record<VoidReason, string>> = {
  unknown: 'It may have been cut off: copy the whole link from the mail.',
  used: 'It was used already, and is valid once.',
  replaced: 'A newer one was sent: use that.',
  expired: 'It is too old.',
}

const next = {
  invitation: html`<p>Ask whoever invited you for a new one. If you have an account, <a href="/sign-in">sign in</a>.</p>`,
  reset: html`<p><a href="/forgot-password">Ask for a new link</a></p>`,
  confirmation: html`<p><a href="/">Go to your account</a>; a new link can be sent from there.</p>`,
}

export function renderVoid(kind: keyof typeof next, why: VoidReason): Html {
  return html`<article class="card">
<h1>This link cannot be used</h1>
<p>${reasons[why]}</p>
${next[kind]}
</article>`
}
