/** Sign-in and sign-up. Rendering only. */
import type { PasskeyRequest } from '#auth/sign-in/passkeys/requests.ts'
import type { SignUpField } from '#auth/sign-in/sign-ins.ts'
import { foreignText, type Html, html } from '../html.ts'
import { alertBox, field, hidden, timezoneField } from '../layout.ts'
import { renderPasskeyPlace } from '../passkey-form.ts'

/** Names the agent that sent this browser here, by the name that it gives itself. */
export function renderWaitingAgent(agent: string | null, next: string): Html | null {
  if (agent === null) return null
  return html`<p><span class="foreign">${foreignText(agent)}</span> is waiting to read your data. ${next}</p>`
}

function renderInterrupted(again: boolean): Html | null {
  return alertBox(
    again
      ? 'Nothing was changed: your password was last given more than ten minutes ago. Give it again, then fill in the form once more.'
      : 'Nothing was changed: you are not signed in any more. Sign in, then fill in the form once more.',
  )
}

export interface SignInOptions {
  readonly formToken: string
  /** A local path to continue to. */
  readonly returnTo: string
  readonly email: string
  readonly message: string | null
  /** Address or password was wrong; the page does not say which. */
  readonly isRefused: boolean
  /** The name of the agent that waits for the answer; null when none does. */
  readonly agent: string | null
  /** A signed-in person has to give the password again. */
  readonly again: boolean
  /** The form that led here was not carried out. */
  readonly isInterrupted: boolean
  readonly signUpIsOpen: boolean
  /** All data on this server is made up. */
  readonly isSandbox: boolean
  /** Null: passkeys do not work on this page. */
  readonly passkey: PasskeyRequest | null
}

export function renderSignIn(options: SignInOptions): Html {
  // One sentence is about both fields.
  const problemAt = options.isRefused ? 'refused' : undefined
  const signUp = `/sign-up?return=${encodeURIComponent(options.returnTo)}`
  return html`<article class="card">
<h1>${options.again ? 'Confirm it is you' : 'Sign in'}</h1>
${renderWaitingAgent(options.agent, options.again ? 'Confirm your password to decide.' : 'Sign in to decide what it may see.')}
${options.again && options.agent === null && !options.isInterrupted && html`<p>Confirm your password to continue.</p>`}
${options.isInterrupted && renderInterrupted(options.again)}
${alertBox(options.message, { id: 'refused' })}
<form method="post" action="/sign-in" novalidate>
${hidden('token', options.formToken)}
${hidden('return', options.returnTo)}
${field({ name: 'email', label: 'E-mail address', type: 'email', autocomplete: 'username', value: options.email, autofocus: options.email === '', problemAt })}
${field({ name: 'password', label: 'Password', type: 'password', autocomplete: 'current-password', autofocus: options.email !== '', problemAt })}
<button type="submit">${options.again ? 'Continue' : 'Sign in'}</button>
</form>
<p><a href="/forgot-password">Forgot your password?</a></p>
${!options.again && options.signUpIsOpen && html`<p>New here? <a href="${signUp}">Create an account</a>.</p>`}
${!options.again && !options.signUpIsOpen && html`<p><small>Accounts are created by the operator of this server.</small></p>`}
${!options.again && options.isSandbox && html`<p><small>This is the sandbox: at its start the server printed a sign-in of a person with made-up accounts.</small></p>`}
${options.passkey !== null && renderPasskey(options, options.passkey)}
</article>`
}

function renderPasskey({ formToken, returnTo }: SignInOptions, request: PasskeyRequest): Html {
  return renderPasskeyPlace({
    request,
    path: passkeyPath,
    fields: { token: formToken, return: returnTo },
    label: 'Use a passkey',
  })
}

/** Where a passkey is given in place of the password. */
export const passkeyPath = '/sign-in/passkey'

export interface SignUpOptions {
  readonly formToken: string
  readonly returnTo: string
  readonly values: { readonly name: string; readonly email: string }
  readonly problems: Readonly<Partial<Record<SignUpField, string>>>
  readonly message: string | null
  /** The name of the agent that waits for the answer; null when none does. */
  readonly agent: string | null
}

export function renderSignUp(options: SignUpOptions): Html {
  const { problems, values } = options
  // Focus goes to the first field with a problem.
  const names = ['name', 'email', 'password'] as const
  const first = names.find((name) => problems[name] !== undefined) ?? 'name'
  return html`<article class="card">
<h1>Create account</h1>
${renderWaitingAgent(options.agent, 'Create an account to decide what it may see.')}
${alertBox(options.message)}
<form method="post" action="/sign-up" novalidate>
${hidden('token', options.formToken)}${timezoneField}
${hidden('return', options.returnTo)}
${field({ name: 'name', label: 'Name', type: 'text', autocomplete: 'name', value: values.name, problem: problems.name, autofocus: first === 'name' })}
${field({ name: 'email', label: 'E-mail address', type: 'email', autocomplete: 'username', value: values.email, problem: problems.email, autofocus: first === 'email' })}
${field({ name: 'password', label: 'Password', type: 'password', autocomplete: 'new-password', hint: 'At least 10 characters. Length is what counts.', problem: problems.password, autofocus: first === 'password' })}
<button type="submit">Create account</button>
</form>
<p>Have one already? <a href="/sign-in?return=${encodeURIComponent(options.returnTo)}">Sign in</a>.</p>
</article>`
}
