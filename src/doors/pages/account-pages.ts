/** The pages of somebody who arrives: home, sign-in, sign-up. Rendering only. */
import type { SignUpField } from '#auth/accounts/accounts.ts'
import type { UserRow } from '#store/port.ts'
import { type Html, html } from './html.ts'
import { alertBox, field, hidden } from './layout.ts'

/** Home: where to go from here. */
export function renderHome(
  user: UserRow | null,
  facts: { readonly mcpUrl: string; readonly signUpIsOpen: boolean },
): Html {
  if (user === null) {
    return html`<h1>Your banks and brokers, read-only</h1>
<p>Tributary shows your balances, transactions, holdings and trades to the programs and agents you choose, and keeps none of them.</p>
<p><a href="/sign-in">Sign in</a>${facts.signUpIsOpen && html` or <a href="/sign-up">make an account</a>`}.</p>`
  }
  return html`<h1>Hello${user.name !== null && html`, ${user.name}`}</h1>
<p>Signed in as <strong>${user.email}</strong>.</p>
<h2>Connect an agent</h2>
<p>Add this address to Claude, ChatGPT, Cursor or any other MCP client; it will bring you back here to choose what it may read:</p>
<p><code>${facts.mcpUrl}</code></p>
<p><a href="/agents">Agents that are connected</a></p>`
}

export interface SignInParts {
  readonly formToken: string
  /** A local path to go on to. */
  readonly returnTo: string
  readonly email: string
  readonly message: string | null
  /** Address or password was wrong; nobody says which. */
  readonly isRefused: boolean
  /** Somebody is signed in and gives the password once more. */
  readonly again: boolean
  readonly signUpIsOpen: boolean
}

export function renderSignIn(parts: SignInParts): Html {
  const signUp = `/sign-up?return=${encodeURIComponent(parts.returnTo)}`
  return html`<article class="card">
<h1>${parts.again ? 'Confirm it is you' : 'Sign in'}</h1>
${parts.again && html`<p>What comes next needs your password once more.</p>`}
${alertBox(parts.message)}
<form method="post" action="/sign-in">
${hidden('token', parts.formToken)}
${hidden('return', parts.returnTo)}
${field({ name: 'email', label: 'E-mail address', type: 'email', autocomplete: 'username', value: parts.email, autofocus: parts.email === '', problem: parts.isRefused ? 'Check the address' : undefined })}
${field({ name: 'password', label: 'Password', type: 'password', autocomplete: 'current-password', autofocus: parts.email !== '', problem: parts.isRefused ? 'Check the password' : undefined })}
<button type="submit">${parts.again ? 'Continue' : 'Sign in'}</button>
</form>
${!parts.again && parts.signUpIsOpen && html`<p>No account yet? <a href="${signUp}">Make one</a>.</p>`}
${!parts.again && !parts.signUpIsOpen && html`<p><small>Accounts are made by the operator of this server.</small></p>`}
</article>`
}

export interface SignUpParts {
  readonly formToken: string
  readonly returnTo: string
  readonly values: { readonly name: string; readonly email: string }
  readonly problems: Readonly<Partial<Record<SignUpField, string>>>
  readonly message: string | null
}

export function renderSignUp(parts: SignUpParts): Html {
  const { problems, values } = parts
  // Whoever comes back to the form is put where it is to be mended.
  const names = ['name', 'email', 'password'] as const
  const first = names.find((name) => problems[name] !== undefined) ?? 'name'
  return html`<article class="card">
<h1>Make an account</h1>
${alertBox(parts.message)}
<form method="post" action="/sign-up">
${hidden('token', parts.formToken)}
${hidden('return', parts.returnTo)}
${field({ name: 'name', label: 'Name', type: 'text', autocomplete: 'name', value: values.name, problem: problems.name, autofocus: first === 'name' })}
${field({ name: 'email', label: 'E-mail address', type: 'email', autocomplete: 'username', value: values.email, problem: problems.email, autofocus: first === 'email' })}
${field({ name: 'password', label: 'Password', type: 'password', autocomplete: 'new-password', hint: 'At least 10 characters. Length is what counts.', problem: problems.password, autofocus: first === 'password' })}
<button type="submit">Make account</button>
</form>
<p>Have one already? <a href="/sign-in?return=${encodeURIComponent(parts.returnTo)}">Sign in</a>.</p>
</article>`
}

/** One sentence where there is nothing to do but go back. */
export function renderNotice(heading: string, sentence: string): Html {
  return html`<article class="card"><h1>${heading}</h1><p>${sentence}</p><p><a href="/">Back to the start</a></p></article>`
}
