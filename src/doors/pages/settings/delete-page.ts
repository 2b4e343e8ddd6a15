/** The end of an account: the question before it, and the page after it. Rendering only. */
import { foreignText, type Html, html } from '../html.ts'
import { field } from '../layout.ts'
import { renderQuestion } from '../question.ts'

export interface DeleteOptions {
  readonly email: string
  /** Each with its accounts: a person may have several at one bank. */
  readonly connections: readonly { readonly name: string; readonly accounts: string }[]
  readonly formToken: string
  /** What is wrong with the address that was typed. */
  readonly problem?: string
}

/** The confirmation before the account is deleted: the address is typed, since nothing brings it back. */
export function renderDelete({ email, connections, formToken, problem }: DeleteOptions): Html {
  return renderQuestion({
    heading: 'Delete this account?',
    sentences: html`<p>The account <strong>${email}</strong> is deleted with its keys, webhook endpoints and connected agents. This cannot be undone.</p>
${
  connections.length > 0 &&
  html`<p>These connections end:</p>
<ul>${connections.map(({ name, accounts }) => html`<li><strong class="foreign">${name}</strong>${accounts !== '' && `: ${accounts}`}</li>`)}</ul>
<p>The providers are asked to end the consents that you gave there, which can take a minute; a key of your own is only forgotten here.</p>`
}
<p>Only the record of what was done stays with the operator, without your name.</p>`,
    path: '/settings/delete',
    formToken,
    fields: field({
      name: 'email',
      label: html`Type <strong>${email}</strong> to confirm`,
      type: 'email',
      autocomplete: 'off',
      problem,
    }),
    confirm: 'Delete the account',
    keep: 'Keep it',
  })
}

/** How one connection ended. */
export type ConnectionEnd =
  /** The provider ended the consent, or it had ended before. */
  | 'ended'
  /** The provider could not be asked: the consent may remain there. */
  | 'open'
  /** A key of the person's own was forgotten here; it is theirs to end. */
  | 'forgotten'
  /** It was given elsewhere, and others may use it. */
  | 'left'

const endTexts: Readonly<Record<ConnectionEnd, string>> = {
  ended: 'the consent is ended.',
  open: 'the provider could not be asked to end the consent. End it there yourself.',
  forgotten:
    'your own key is forgotten here. It still works elsewhere until you end it at the provider.',
  left: 'the consent was given elsewhere and stays. End it at the provider if nothing else uses it.',
}

export interface DeletedOptions {
  readonly ends: readonly { readonly name: string; readonly end: ConnectionEnd }[]
  /** Connections beyond those that are listed. */
  readonly more: number
}

/** What was ended at the providers, and what was not. */
export function renderDeleted({ ends, more }: DeletedOptions): Html {
  return html`<article class="card">
<h1>The account is deleted</h1>
<p>Its keys and agents are refused from now on. Only the record of what was done stays with the operator, without your name.</p>
${ends.length > 0 && html`<ul>${ends.map(({ name, end }) => html`<li><span class="foreign">${foreignText(name)}</span>: ${endTexts[end]}</li>`)}</ul>`}
${more > 0 && html`<p>The operator can tell you about ${more} more.</p>`}
<p><a href="/">To the start</a></p>
</article>`
}
