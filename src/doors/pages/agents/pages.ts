/** The list of connected agents, and the confirmation before one is disconnected. Rendering only. */
import type { ConnectedAgent } from '#auth/oauth/port.ts'
import { toIso } from '#kernel/time.ts'
import { foreignText, type Html, html } from '../html.ts'
import { hidden } from '../layout.ts'

export interface AgentsParts {
  readonly agents: readonly ConnectedAgent[]
  readonly formToken: string
  readonly mcpUrl: string
  /** An agent was disconnected just now. */
  readonly isDone: boolean
}

export function renderAgents({ agents, formToken, mcpUrl, isDone }: AgentsParts): Html {
  const done =
    isDone &&
    html`<p class="done" role="status">The agent is disconnected. It is refused from now on; to allow it again, connect it again from the agent.</p>`
  if (agents.length === 0) {
    return html`<h1>Agents</h1>
${done}
<p>No agent is connected. Add <code>${mcpUrl}</code> to an MCP client to connect one.</p>`
  }
  return html`<h1>Agents</h1>
${done}
<p>These may read your data until you disconnect them.</p>
<table role="table" aria-label="Connected agents">
<thead role="rowgroup"><tr role="row">${columns.map((name) => html`<th role="columnheader" scope="col">${name}</th>`)}</tr></thead>
<tbody role="rowgroup">${agents.map((agent) => renderAgent(agent, formToken))}</tbody>
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

const columns = ['Agent', 'May read', 'Connected', 'Disconnect']

/**
 * Explicit table roles: on a narrow screen the style displays rows as blocks, which would remove the implicit roles.
 */
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
