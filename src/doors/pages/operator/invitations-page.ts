/** Invitations that can still be used, and the form for a new one. Rendering only. */
import { invitationsListed } from '#auth/sign-in/single-use.ts'
import { foreignText, type Html, html } from '../html.ts'
import { doneBox, field, hidden } from '../layout.ts'
import { table } from '../table.ts'
import type { AdminRow } from './api.ts'
import { renderUtc } from './frame-page.ts'

type OpenInvitation = AdminRow<'/invitations'>

export interface InvitationsOptions {
  readonly invitations: readonly OpenInvitation[]
  readonly formToken: string
  readonly done: string | null
  /** The link that was made just now; null: none was. */
  readonly made: { readonly email: string; readonly url: string } | null
  readonly email: string
  readonly problem: string | null
}

export function renderInvitations(options: InvitationsOptions): Html {
  const { invitations, formToken, done, made, email, problem } = options
  const post = (action: string, one: OpenInvitation, words: string, style: string) =>
    html`<form method="post" action="/invitations${action}">${hidden('formToken', formToken)}${hidden('email', one.email)}<button type="submit" class="outline ${style}" aria-label="${words}: ${one.email}">${words}</button></form>`
  return html`<h1>Invitations</h1>
${doneBox(done)}
${made !== null && html`<section class="card once"><p>The invitation of <span class="foreign">${foreignText(made.email)}</span> is valid for seven days. It is mailed where there is a mail server; otherwise give them this link:</p><p><output name="secret" data-copy="the link">${made.url}</output></p></section>`}
${
  invitations.length === 0
    ? html`<p>No invitation is open.</p>`
    : table<OpenInvitation>(
        'Open invitations',
        [
          {
            name: 'Address',
            show: (one) => html`<span class="foreign">${foreignText(one.email)}</span>`,
          },
          { name: 'Created', show: ({ createdAt }) => renderUtc(createdAt) },
          { name: 'Ends', show: ({ expiresAt }) => renderUtc(expiresAt) },
          { name: 'Again', isPlain: true, show: (one) => post('', one, 'Send again', 'secondary') },
          {
            name: 'Withdraw',
            isPlain: true,
            show: (one) => post('/withdraw', one, 'Withdraw', 'danger'),
          },
        ],
        invitations,
      )
}
${invitations.length >= invitationsListed && html`<p><small>These are the newest ${invitationsListed}. Older ones, if there are any, are listed once some of these are withdrawn or used.</small></p>`}
<h2>Invite somebody</h2>
<form method="post" action="/invitations" novalidate class="narrow">${hidden('formToken', formToken)}
${field({ name: 'email', label: 'E-mail address', type: 'email', autocomplete: 'off', value: email, problem: problem ?? undefined })}
<button type="submit">Invite</button></form>`
}
