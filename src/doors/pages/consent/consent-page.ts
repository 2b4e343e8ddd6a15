/** The consent page: may this agent read the person's data? Rendering only. */
import type { PendingConsent } from '#auth/oauth/port.ts'
import type { Scope } from '#auth/scopes.ts'
import { factsOf } from '#providers/all-facts.ts'
import type { AccountRow } from '#store/ports/accounts.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'
import { nameOf } from '../connections/facts.ts'
import { summarizeHeld } from '../connections/named.ts'
import { foreignText, type Html, html } from '../html.ts'
import { alertBox, hidden } from '../layout.ts'

const scopeTexts: Readonly<Record<Scope, { readonly label: string; readonly hint: string }>> = {
  'mcp:read': {
    label: 'Banks: connections, accounts, balances and transactions',
    hint: 'Read only. Account numbers stay masked.',
  },
  'brokerage:read': {
    label: 'Brokers: holdings and trades',
    hint: 'Read only. Nothing can be bought or sold.',
  },
}

export interface ConsentPageOptions {
  readonly consent: PendingConsent
  readonly email: string
  readonly formToken: string
  /** The plan has API access; without it the agent is connected but every call is refused. */
  readonly mayRead: boolean
  /** The requested scopes that the plan allows (reading R26). */
  readonly offered: readonly Scope[]
  /** The person's connections, which may be chosen from (reading R43). */
  readonly connections: readonly ConnectionRow[]
  /** The accounts of all connections. */
  readonly accounts: readonly AccountRow[]
  /** The form was sent without any of them. */
  readonly choseNone: boolean
}

/** In the query of the form's address: a browser sends the boxes, and none means that none is ticked. */
export const choosing = { name: 'choice', value: 'connections' } as const

export function renderConsent(options: ConsentPageOptions): Html {
  const { consent, email, formToken, mayRead, offered, connections, choseNone } = options
  const action = `/consent/${encodeURIComponent(consent.uid)}`
  const withheld = offered.length < consent.scopes.length
  return html`<article class="card">
<h1>Let an agent read your data?</h1>
<p><span class="foreign">${foreignText(consent.clientName)}</span> wants to read what your banks and brokers show Tributary. The answer goes to <span class="foreign">${foreignText(consent.redirectHost)}</span>.</p>
<p><small>The name is what the agent calls itself. You are signed in as ${email}.</small></p>
${choseNone && alertBox('Tick at least one connection, or deny.', { hasFocus: true })}
<form method="post" action="${action}">
${hidden('token', formToken)}
<fieldset>
<legend>It may read</legend>
${offered.map((scope) => renderScope(scope))}
${withheld && html`<p class="withheld"><small>Brokers: holdings and trades were asked for too, but your plan does not include them. They need a Professional plan.</small></p>`}
</fieldset>
${offered.length > 0 && connections.length > 0 && renderChoice(options)}
${!mayRead && html`<p><small>Your plan does not include access for programs yet: until the operator of this server gives you one, the agent will be refused.</small></p>`}
<div class="choices">
${offered.length > 0 && html`<button type="submit" name="decision" value="allow"${connections.length > 0 && html` formaction="${action}?${choosing.name}=${choosing.value}"`}>Allow</button>`}
<button type="submit" name="decision" value="deny" class="secondary outline">Deny</button>
</div>
</form>
<p><small>You can disconnect it at any time under <a href="/agents">Agents</a>.</small></p>
</article>`
}

function renderScope(scope: Scope): Html {
  const { label, hint } = scopeTexts[scope]
  const id = scope.replace(':', '-')
  return html`<div class="scope">
<input type="checkbox" id="${id}" name="scope" value="${scope}" checked aria-describedby="${id}-hint">
<label for="${id}">${label}</label>
<small id="${id}-hint">${hint}</small>
</div>`
}

function renderChoice({ connections, accounts }: ConsentPageOptions): Html {
  const accountsOf = summarizeHeld(accounts)
  return html`<fieldset>
<legend>At these connections</legend>
${connections.map((connection) => renderConnection(connection, accountsOf(connection)))}
<p><small>With all of them ticked it may also read those that you link later.</small></p>
</fieldset>`
}

function renderConnection(connection: ConnectionRow, accounts: string): Html {
  const { id, provider } = connection
  const name = `connection-${id}`
  return html`<div class="scope">
${hidden('offered', id)}
<input type="checkbox" id="${name}" name="connection" value="${id}" checked aria-describedby="${name}-hint">
<label for="${name}"><span class="foreign">${nameOf(connection)}</span></label>
<small id="${name}-hint">${accounts !== '' && `${accounts}, `}through ${factsOf(provider).name}</small>
</div>`
}
