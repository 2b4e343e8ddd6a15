/**
 * Where the script offers passkeys (enhance.js): a place that becomes a form with one button, in browsers
 * that have passkeys alone, and the attributes of a form whose answer comes from the browser's own dialogue.
 */
import type { PasskeyRequest } from '#auth/sign-in/passkeys/requests.ts'
import { type Html, html } from './html.ts'
import { hidden } from './layout.ts'

export interface PasskeyPlace {
  readonly request: PasskeyRequest
  /** Where the form is sent. */
  readonly path: string
  /** The hidden fields of the form, beside the challenge. */
  readonly fields: Readonly<Record<string, string>>
  /** Words of the button: they contain no words of another button of the page. */
  readonly label: string
  /** It comes before the other ways, as the one that most people take. */
  readonly isFirst?: boolean
}

/** Empty without the script: nothing that the person could not use. */
export function renderPasskeyPlace(options: PasskeyPlace): Html {
  const { request, path, fields, label, isFirst = false } = options
  const all = JSON.stringify({ ...fields, challenge: request.challenge })
  return html`<div class="passkey${isFirst && ' first'}" data-passkey="get" data-request="${JSON.stringify(request.publicKey)}" data-path="${path}" data-fields="${all}" data-label="${label}" data-look="${isFirst ? '' : 'secondary outline'}"></div>`
}

/** The attributes of a form that makes a passkey. */
export function passkeyAttributes({ publicKey }: PasskeyRequest): Html {
  return html` data-passkey="create" data-request="${JSON.stringify(publicKey)}"`
}

/** Its hidden fields; the script fills in the second one. */
export function passkeyFields({ challenge }: PasskeyRequest): Html {
  return html`${hidden('challenge', challenge)}${hidden('credential', '')}`
}

/** What such a form sent. */
export function readPasskeyForm(form: URLSearchParams) {
  return { challenge: form.get('challenge') ?? '', credential: form.get('credential') ?? '' }
}

/** What a page says when the answer of a passkey came too late. */
export const staleText = 'This page was open for too long. Press the button once more.'

/** The same for every passkey. */
export const refusedPasskey = 'That passkey was not accepted. Try again, or sign in another way.'
