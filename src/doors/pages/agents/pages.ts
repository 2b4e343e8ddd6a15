/** The list of connected agents with how to connect more, and the confirmation before one is disconnected. Rendering only. */
import type { ConnectedAgent } from '#auth/oauth/port.ts'
import { foreignText, type Html, html } from '../html.ts'
import { hidden } from '../layout.ts'
import { renderMoment } from '../moments.ts'
import { renderClients } from './clients.ts'

/** What was done just now. */
export const doneSentences = {
  disconnected:
    'The agent is disconnected. It is refused from now on; to allow it again, connect it again from the agent.',
  gone: 'That agent is not connected: it was disconnected before, or the address is wrong.',
} as const

export interface AgentsParts {
  readonly agents: readonly ConnectedAgent[]
  readonly formToken: string
  readonly mcpUrl: string
  /** IANA name of the person's zone. */
  readonly zone: string
  /** Only this machine reaches the server. */
  readonly isLoopback: boolean
  /** The plan has API access; without it every agent is refused. */
  readonly mayRead: boolean
  readonly done: keyof typeof doneSentences | null
}

export function renderAgents(parts: AgentsParts): Html {
  const { agents, mcpUrl, isLoopback, done } = parts
  return html`<h1>Agents</h1>
${done !== null && html`<p class="done" role="status">${doneSentences[done]}</p>`}
${!parts.mayRead && html`<p class="alert">Your plan does not include access for agents, so they are refused until the operator of this server changes it.</p>`}
${agents.length === 0 ? html`<p>No agent is connected. An agent such as Claude or ChatGPT answers questions about your accounts, and can only read.</p>` : renderTable(parts)}
${renderClients(mcpUrl, isLoopback)}`
}

const columns = ['Agent', 'May read', 'Connected', 'Last used', 'Disconnect']

function renderTable(parts: AgentsParts): Html {
  return html`<p>These may read your data until you disconnect them.</p>
<table role="table" aria-label="Connected agents">
<thead role="rowgroup"><tr role="row">${columns.map((name) => html`<th role="columnheader" scope="col">${name}</th>`)}</tr></thead>
<tbody role="rowgroup">${parts.agents.map((agent) => renderAgent(agent, parts))}</tbody>
</table>`
}

/** The confirmation before an agent is disconnected. */
export function renderDisconnect(agent: ConnectedAgent, formToken: string): Html {
  return html`<article class="card">
<h1>Disconnect this agent?</h1>
<p><span class="foreign">${foreignText(agent.clientName)}</span> at <span class="foreign">${foreignText(agent.redirectHost)}</span> may read ${agent.scopes.includes('brokerage:read') ? 'your banks and brokers' : 'your banks'}. Once it is disconnected, its next request is refused. What it has read already stays with it.</p>
<form method="post" action="/agents/disconnect">
${hidden('token', formToken)}
${hidden('grant', agent.grantId)}
<div class="choices">
<button type="submit" name="decision" value="confirm">Disconnect</button>
<button type="submit" name="decision" value="cancel" class="secondary outline">Keep</button>
</div>
</form>
</article>`
}

/** What a grant covers, in words. */
function describeScopes({ scopes }: ConnectedAgent): string {
  if (!scopes.includes('brokerage:read')) return 'Banks'
  return scopes.includes('mcp:read') ? 'Banks and brokers' : 'Brokers'
}

/**
 * Explicit table roles: on a narrow screen the style displays rows as blocks, which would remove the implicit roles.
 */
function renderAgent(agent: ConnectedAgent, { formToken, zone }: AgentsParts): Html {
  const name = foreignText(agent.clientName)
  const { connectedAt, lastUsedAt } = agent
  return html`<tr role="row">
<th role="rowheader" scope="row"><span class="foreign">${name}</span> <small class="place">${foreignText(agent.redirectHost)}</small></th>
<td role="cell" data-label="May read">${describeScopes(agent)}</td>
<td role="cell" data-label="Connected">${renderMoment(connectedAt, zone)}</td>
<td role="cell" data-label="Last used">${lastUsedAt === null ? 'never' : renderMoment(lastUsedAt, zone)}</td>
<td role="cell"><form method="post" action="/agents/disconnect">${hidden('token', formToken)}${hidden('grant', agent.grantId)}
<button type="submit" class="outline secondary" aria-label="Disconnect ${name}">Disconnect</button></form></td>
</tr>`
}
