/** The pages about agents: consent, and those that are connected. Rendering only. */
import type { ConnectedAgent, PendingConsent } from '#auth/oauth/port.ts'
import type { Scope } from '#auth/scopes.ts'
import { toIso } from '#kernel/time.ts'
import { foreignText, type Html, html } from './html.ts'
import { hidden } from './layout.ts'

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

export interface ConsentParts {
  readonly consent: PendingConsent
  readonly email: string
  readonly formToken: string
  /** The plan has API access at all; without it the agent is connected and refused at every call. */
  readonly mayRead: boolean
  /** The plan has brokerage access (reading R26). */
  readonly mayReadBrokerage: boolean
}

export function renderConsent(parts: ConsentParts): Html {
  const { consent, email, formToken, mayRead, mayReadBrokerage } = parts
  const offered = consent.scopes.filter((scope) => scope !== 'brokerage:read' || mayReadBrokerage)
  const withheld = offered.length < consent.scopes.length
  return html`<article class="card">
<h1>Let an agent read your data?</h1>
<p><span class="foreign">${foreignText(consent.clientName)}</span> wants to read what your banks and brokers show Tributary. The answer goes to <span class="foreign">${foreignText(consent.redirectHost)}</span>.</p>
<p><small>The name is what the agent calls itself. You are signed in as ${email}.</small></p>
<form method="post" action="/consent/${encodeURIComponent(consent.uid)}">
${hidden('token', formToken)}
<fieldset>
<legend>It may read</legend>
${offered.map((scope) => renderScope(scope))}
${withheld && html`<p class="withheld"><small>Brokers: holdings and trades were asked for too, but your plan does not include them. They need a Professional plan.</small></p>`}
</fieldset>
${!mayRead && html`<p><small>Your plan does not include access for programs yet: until the operator of this server gives you one, the agent will be refused.</small></p>`}
<div class="choices">
${offered.length > 0 && html`<button type="submit" name="decision" value="allow">Allow</button>`}
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

export interface AgentsParts {
  readonly agents: readonly ConnectedAgent[]
  readonly formToken: string
  readonly mcpUrl: string
}

export function renderAgents({ agents, formToken, mcpUrl }: AgentsParts): Html {
  if (agents.length === 0) {
    return html`<h1>Agents</h1>
<p>No agent is connected. Add <code>${mcpUrl}</code> to an MCP client to connect one.</p>`
  }
  return html`<h1>Agents</h1>
<p>These may read your data until you disconnect them.</p>
<table role="table" aria-label="Connected agents">
<thead role="rowgroup"><tr role="row">${columns.map((name) => html`<th role="columnheader" scope="col">${name}</th>`)}</tr></thead>
<tbody role="rowgroup">${agents.map((agent) => renderAgent(agent, formToken))}</tbody>
</table>`
}

const columns = ['Agent', 'May read', 'Connected', 'Disconnect']

/** Roles beside the tags: on a narrow screen the style makes blocks of rows, and they stay a table nevertheless. */
function renderAgent(agent: ConnectedAgent, formToken: string): Html {
  const name = foreignText(agent.clientName)
  const day = toIso(agent.connectedAt).slice(0, 10)
  return html`<tr role="row">
<th role="rowheader" scope="row"><span class="foreign">${name}</span> <small class="place">${foreignText(agent.redirectHost)}</small></th>
<td role="cell">${agent.scopes.includes('brokerage:read') ? 'Banks and brokers' : 'Banks'}</td>
<td role="cell"><time datetime="${day}">${day}</time></td>
<td role="cell"><form method="post" action="/agents/disconnect">${hidden('token', formToken)}${hidden('grant', agent.grantId)}
<button type="submit" class="outline secondary" aria-label="Disconnect ${name}">Disconnect</button></form></td>
</tr>`
}
