/** A person's passkeys: the list in the settings, a new one, and the question before one ends. */
import { passkeysAllowed } from '#auth/sign-in/passkeys/passkeys.ts'
import type { PasskeyRequest } from '#auth/sign-in/passkeys/requests.ts'
import type { PasskeyRow } from '#store/ports/passkeys.ts'
import { foreignText, type Html, html } from '../html.ts'
import { alertBox, field, hidden, leadingButton } from '../layout.ts'
import { renderAgo, renderMoment } from '../moments.ts'
import { passkeyAttributes, passkeyFields } from '../passkey-form.ts'
import { renderQuestion } from '../question.ts'
import { table } from '../table.ts'

export const passkeysPath = '/settings/passkeys'

export interface PasskeyListOptions {
  readonly passkeys: readonly PasskeyRow[]
  readonly zone: string
  readonly now: number
  /** Where passkeys work; null: nowhere. */
  readonly passkeyHome: string | null
}

/** The section of the settings. */
export function renderPasskeys(options: PasskeyListOptions): Html {
  const { passkeys, passkeyHome } = options
  return html`<h2>Passkeys</h2>
<p>A passkey signs you in with your fingerprint, face or PIN, and cannot be given to a false page. It works at ${passkeyHome === null ? 'no address of this server: that needs a name and https' : html`<strong>${passkeyHome}</strong>`}.</p>
${passkeys.length > 0 && renderList(options)}
${passkeyHome !== null && renderMore(passkeys.length)}`
}

function renderMore(count: number): Html {
  if (count >= passkeysAllowed)
    return html`<p>You have ${passkeysAllowed}, the most there can be.</p>`
  return html`<p>${leadingButton(passkeysPath, 'Add a passkey', { look: 'secondary outline' })}</p>`
}

function renderList({ passkeys, zone, now }: PasskeyListOptions): Html {
  return table<PasskeyRow>(
    'Passkeys',
    [
      { name: 'Name', show: ({ name }) => html`<span class="foreign">${foreignText(name)}</span>` },
      { name: 'Added', show: ({ createdAt }) => renderMoment(createdAt, zone) },
      {
        name: 'Last used',
        show: ({ lastUsedAt }) =>
          lastUsedAt === null ? 'never' : renderAgo(lastUsedAt, zone, now),
      },
      {
        name: 'Remove',
        isPlain: true,
        show: ({ id, name }) =>
          leadingButton(`${passkeysPath}/${id}/remove`, 'Remove', {
            look: 'outline danger',
            label: `Remove ${foreignText(name)}`,
          }),
      },
    ],
    passkeys,
  )
}

export interface NewPasskeyOptions {
  readonly formToken: string
  readonly request: PasskeyRequest
  readonly name: string
  readonly problem: string | undefined
  readonly message: string | null
  /** The person has a second factor already. */
  readonly hasSecondFactor: boolean
}

export function renderNewPasskey(options: NewPasskeyOptions): Html {
  const { formToken, request, name, problem, message, hasSecondFactor } = options
  return html`<article class="card">
<h1>Add a passkey</h1>
<p>It stays on this device, in your password manager or on a security key. This server gets its public half alone.</p>
${!hasSecondFactor && html`<p>From then on your password alone does not sign you in: a passkey does, or the password with a passkey or a recovery code. You get the recovery codes next.</p>`}
${alertBox(message)}
<noscript><p class="alert">This page needs JavaScript: without it a browser cannot make a passkey.</p></noscript>
<form method="post" action="${passkeysPath}" novalidate${passkeyAttributes(request)}>
${hidden('token', formToken)}${passkeyFields(request)}
${field({ name: 'name', label: 'Name', type: 'text', autocomplete: 'off', value: name, hint: 'So that you recognise it later', problem })}
<button type="submit">Create the passkey</button>
</form>
<p><a href="/settings">Not now</a></p>
</article>`
}

/** Passkeys work under another address than the one that the page was opened at. */
export function renderElsewhere(home: string | null): Html {
  return html`<article class="card">
<h1>Add a passkey</h1>
${home === null ? html`<p>Passkeys need a server with a name and https. This one has neither.</p>` : html`<p>Passkeys work at <strong>${home}</strong> alone. Open the settings <a href="${home}${passkeysPath}">there</a>.</p>`}
<p><a href="/settings">Back to the settings</a></p>
</article>`
}

export interface RemovePasskeyOptions {
  readonly passkey: PasskeyRow
  readonly formToken: string
  /** What is left beside it. */
  readonly left: { readonly passkeys: number; readonly hasApp: boolean }
}

export function renderRemovePasskey({ passkey, formToken, left }: RemovePasskeyOptions): Html {
  const isLast = left.passkeys === 0 && !left.hasApp
  return renderQuestion({
    heading: 'Remove this passkey?',
    sentences: html`<p><span class="foreign">${foreignText(passkey.name)}</span> does not sign you in any more. Remove it on your device too.</p>
${isLast && html`<p>It is your last second factor: from then on your password alone signs you in, and the recovery codes end.</p>`}`,
    path: `${passkeysPath}/${passkey.id}/remove`,
    formToken,
    confirm: 'Remove the passkey',
    keep: 'Keep it',
  })
}
