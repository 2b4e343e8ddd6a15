/** The page that asks for the code of the second factor. Rendering only. */
import { type Html, html } from '../html.ts'
import { alertBox, field, hidden } from '../layout.ts'
import { renderWaitingAgent } from './sign-in-page.ts'

export interface CodeOptions {
  readonly formToken: string
  /** A local path to continue to. */
  readonly returnTo: string
  /** The name of the agent that waits for the answer; null when none does. */
  readonly agent: string | null
  readonly message: string | null
  readonly isRefused: boolean
}

export function renderCode(options: CodeOptions): Html {
  return html`<article class="card">
<h1>Enter your code</h1>
${renderWaitingAgent(options.agent, 'One more step to decide what it may see.')}
${alertBox(options.message)}
<form method="post" action="/sign-in/code" novalidate>
${hidden('token', options.formToken)}
${hidden('return', options.returnTo)}
${field({ name: 'code', label: 'Code', type: 'text', autocomplete: 'one-time-code', autofocus: true, hint: 'The six digits in your authenticator app, or a recovery code', problem: options.isRefused ? 'Check the code' : undefined })}
<button type="submit">Continue</button>
</form>
<p><small>No app and no recovery code? The operator of this server can remove the second factor.</small></p>
</article>`
}
