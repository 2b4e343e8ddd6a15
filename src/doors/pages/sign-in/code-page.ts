/** The page that asks for the code of the second factor. Rendering only. */
import type { SecondStepChoice } from '#auth/sign-in/code-step.ts'
import type { PasskeyRequest } from '#auth/sign-in/passkeys/requests.ts'
import { type Html, html } from '../html.ts'
import { alertBox, field, hidden } from '../layout.ts'
import { renderPasskeyPlace } from '../passkey-form.ts'
import { renderWaitingAgent } from './sign-in-page.ts'

export interface CodeOptions {
  readonly formToken: string
  /** A local path to continue to. */
  readonly returnTo: string
  /** The name of the agent that waits for the answer; null when none does. */
  readonly agent: string | null
  readonly message: string | null
  /** The message is about the code that was given, and stands at its field. */
  readonly isRefused: boolean
  readonly choice: SecondStepChoice
  /** Where passkeys work; null: nowhere. */
  readonly passkeyHome: string | null
}

export function renderCode(options: CodeOptions): Html {
  const { choice } = options
  const passkey = choice.passkey !== null && renderPasskey(options, choice.passkey)
  return html`<article class="card">
<h1>${titleOfStep(choice)}</h1>
${renderWaitingAgent(options.agent, 'One more step to decide what it may see.')}
${alertBox(options.isRefused ? null : options.message)}
${!choice.hasApp && passkey}
${choice.hasPasskeys && choice.passkey === null && renderElsewhere(options)}
<form method="post" action="/sign-in/code" novalidate>
${hidden('token', options.formToken)}
${hidden('return', options.returnTo)}
${field({ name: 'code', label: 'Code', type: 'text', autocomplete: 'one-time-code', autofocus: choice.hasApp || options.isRefused, hint: choice.hasApp ? 'The six digits in your authenticator app, or a recovery code' : 'One of your recovery codes, if your passkey is not here', problem: (options.isRefused && options.message) || undefined })}
<button type="submit"${!choice.hasApp && html` class="secondary outline"`}>Continue</button>
</form>
${choice.hasApp && passkey}
<p><small>${choice.hasPasskeys ? 'No passkey' : 'No app'} and no recovery code? The operator of this server can remove the second factor.</small></p>
</article>`
}

/** The heading: what most people give here. */
export const titleOfStep = ({ hasApp }: SecondStepChoice): string =>
  hasApp ? 'Enter your code' : 'Use your passkey'

function renderPasskey(options: CodeOptions, request: PasskeyRequest): Html {
  const { formToken, returnTo } = options
  return renderPasskeyPlace({
    request,
    path: '/sign-in/code',
    fields: { token: formToken, return: returnTo },
    label: 'Use a passkey',
    isFirst: !options.choice.hasApp,
  })
}

/** Passkeys belong to one address; the page was opened under another. */
function renderElsewhere({ passkeyHome }: CodeOptions): Html | null {
  if (passkeyHome === null) return null
  return html`<p>Your passkeys work at <strong>${passkeyHome}</strong> alone. Here a recovery code helps.</p>`
}
