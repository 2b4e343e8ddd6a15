/** The start page, for visitors and for signed-in people, and the end of a sign-up. Rendering only. */
import type { UserRow } from '#store/ports/users.ts'
import { type Html, html } from '../html.ts'

/** What a signed-in person has in this installation. */
export interface HomeFacts {
  readonly user: UserRow
  readonly connections: number
  /** The plan has API access; without it every agent is refused. */
  readonly mayRead: boolean
  readonly mcpUrl: string
}

/** The start page for a visitor who is not signed in. */
export function renderSignedOutHome({ signUpIsOpen }: { readonly signUpIsOpen: boolean }): Html {
  return html`<h1>Your banks and brokers, read-only</h1>
<p>Tributary shows your balances, transactions, holdings and trades to the programs and agents you choose, and keeps none of them.</p>
<p><a href="/sign-in">Sign in</a>${signUpIsOpen && html` or <a href="/sign-up">make an account</a>`}.</p>`
}

/** The start page for a signed-in person. */
export function renderHome(has: HomeFacts): Html {
  const { name, email } = has.user
  return html`<h1>Hello${name !== null && html`, ${name}`}</h1>
<p>Signed in as <strong>${email}</strong>.</p>
${renderSteps(has)}`
}

/** The end of a sign-up. */
export function renderWelcome(has: HomeFacts): Html {
  return html`<h1>Your account is ready</h1>
<p>You are signed in as <strong>${has.user.email}</strong>. From now on you sign in with that address and your password.</p>
<h2>What comes next</h2>
${renderSteps(has)}`
}

/** The requirements before an agent can answer anything, in their order. */
function renderSteps({ connections, mayRead, mcpUrl }: HomeFacts): Html {
  return html`<ol class="steps">
<li><h3>Your banks and brokers</h3>
${connections === 0 && html`<p>None is linked yet, so there is nothing to read. The operator of this server links them for you: tell them the address that you sign in with.</p>`}
${connections > 0 && html`<p>${connections === 1 ? 'One connection is' : html`${connections} connections are`} linked.</p>`}
${!mayRead && html`<p>Your plan does not include access for programs yet; the operator gives you one.</p>`}</li>
<li><h3>Connect an agent</h3>
<p>Add this address to Claude, ChatGPT, Cursor or any other MCP client; it will bring you back here to choose what it may read:</p>
<p><code>${mcpUrl}</code></p></li>
<li><h3>Or make an API key</h3>
<p>Your own programs read with <a href="/keys">a key</a>; <a href="/doc">the reference</a> lists what they can ask for.</p></li>
</ol>`
}
