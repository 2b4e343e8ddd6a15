/** Connected agents, how to connect more, and the question before one is disconnected. Rendering only. */
import { type ConnectedAgent, mostAgentsShown } from '#auth/oauth/port.ts'
import { foreignText, type Html, html } from '../html.ts'
import { doneBox, hidden } from '../layout.ts'
import { renderAgo, renderMoment } from '../moments.ts'
import { renderQuestion } from '../question.ts'
import { table } from '../table.ts'
import { renderClients } from './clients.ts'

export const agentsDone = {
  disconnected:
    'The agent is disconnected. It is refused from now on; to allow it again, connect it again from the agent.',
  gone: 'That agent is not connected: it was disconnected before, or the address is wrong.',
} as const

export interface AgentsPageOptions {
  readonly agents: readonly ConnectedAgent[]
  readonly formToken: string
  readonly mcpUrl: string
  /** IANA name of the person's zone. */
  readonly zone: string
  readonly now: number
  /** Only this machine reaches the server. */
  readonly isLoopback: boolean
  /** The plan has API access; without it every agent is refused. */
  readonly mayRead: boolean
  readonly done: keyof typeof agentsDone | null
}

export function renderAgents(options: AgentsPageOptions): Html {
  const { agents, mcpUrl, isLoopback, done } = options
  return html`<h1>Agents</h1>
${doneBox(done && agentsDone[done])}
${!options.mayRead && html`<p class="alert">Your plan does not include access for agents, so they are refused until the operator of this server changes it.</p>`}
${agents.length === 0 ? html`<p>No agent is connected. An agent such as Claude or ChatGPT answers questions about your accounts, and can only read.</p>` : renderTable(options)}
${renderClients(mcpUrl, isLoopback)}`
}

function renderTable({ agents, formToken, zone, now }: AgentsPageOptions): Html {
  return html`<p>These may read your data until you disconnect them.</p>
${table<ConnectedAgent>(
  'Connected agents',
  [
    {
      name: 'Agent',
      show: ({ clientName, redirectHost }) =>
        html`<span class="foreign">${foreignText(clientName)}</span> <small class="place">${foreignText(redirectHost)}</small>`,
    },
    {
      name: 'May read',
      show: (agent) => html`${describeScopes(agent)}${describeChoice(agent)}`,
    },
    { name: 'Connected', show: ({ connectedAt }) => renderMoment(connectedAt, zone) },
    {
      name: 'Last used',
      show: ({ lastUsedAt }) => (lastUsedAt === null ? 'never' : renderAgo(lastUsedAt, zone, now)),
    },
    {
      name: 'Disconnect',
      isPlain: true,
      show: ({
        grantId,
        clientName,
      }) => html`<form method="post" action="/agents/disconnect">${hidden('token', formToken)}${hidden('grant', grantId)}
<button type="submit" class="outline danger" aria-label="Disconnect ${foreignText(clientName)}">Disconnect</button></form>`,
    },
  ],
  agents,
)}
${agents.length >= mostAgentsShown && html`<p>These are the newest ${mostAgentsShown}. Older ones, if there are any, may read your data too: they are listed here once you disconnect some of these.</p>`}`
}

export function renderDisconnect(agent: ConnectedAgent, formToken: string): Html {
  const { clientName, redirectHost, scopes, grantId } = agent
  return renderQuestion({
    heading: 'Disconnect this agent?',
    sentences: html`<p><span class="foreign">${foreignText(clientName)}</span> at <span class="foreign">${foreignText(redirectHost)}</span> may read ${scopes.includes('brokerage:read') ? 'your banks and brokers' : 'your banks'}. Once it is disconnected, its next request is refused. What it has read already stays with it.</p>`,
    path: '/agents/disconnect',
    formToken,
    fields: hidden('grant', grantId),
    confirm: 'Disconnect',
    keep: 'Keep',
  })
}

function describeChoice({ connections }: ConnectedAgent): Html | false {
  if (connections === null) return false
  const count =
    connections.length === 1 ? '1 chosen connection' : `${connections.length} chosen connections`
  return html` <small class="place">${count}</small>`
}

/** What a grant covers, in words. */
function describeScopes({ scopes }: ConnectedAgent): string {
  if (!scopes.includes('brokerage:read')) return 'Banks'
  return scopes.includes('mcp:read') ? 'Banks and brokers' : 'Brokers'
}
