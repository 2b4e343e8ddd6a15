/**
 * How to add this server to each agent, to copy (docs/agents.md tells the same). Only what the vendors'
 * documentation says; menus change, commands and files rarely. Rendering only.
 */
import { type Html, html } from '../html.ts'

interface AgentClient {
  readonly name: string
  /** It runs at its vendor, so it reaches public addresses only. */
  readonly isRemote?: true
  /** The steps; null stands for the text to copy. */
  readonly steps: (url: string) => readonly (Html | { readonly copy: string })[]
}

const toJson = (value: unknown) => JSON.stringify(value, null, 2)

const clients: readonly AgentClient[] = [
  {
    name: 'Claude: web, desktop, phone',
    isRemote: true,
    steps: (url) => [
      html`In Claude’s settings, look for connectors, and add a custom one. Name it Tributary, and give this address:`,
      { copy: url },
      html`Connect it there, sign in here, and allow what it may read.`,
    ],
  },
  {
    name: 'Claude Code',
    steps: (url) => [
      html`In a terminal:`,
      { copy: `claude mcp add --transport http tributary ${url}` },
      html`Then type <code>/mcp</code> in Claude Code and choose <em>Authenticate</em>.`,
    ],
  },
  {
    name: 'ChatGPT',
    isRemote: true,
    steps: (url) => [
      html`In ChatGPT’s settings, look for apps (also called connectors), and turn on the developer mode. Then create one, with OAuth as the authentication and this address:`,
      { copy: url },
      html`Sign in here, and allow what it may read.`,
    ],
  },
  {
    name: 'Codex',
    steps: (url) => [
      html`In a terminal:`,
      { copy: `codex mcp add tributary --url ${url}` },
      { copy: 'codex mcp login tributary' },
    ],
  },
  {
    name: 'Cursor',
    steps: (url) => [
      html`In <code>~/.cursor/mcp.json</code>, or <code>.cursor/mcp.json</code> of a project:`,
      { copy: toJson({ mcpServers: { tributary: { url } } }) },
      html`Then sign in where Cursor lists its MCP servers.`,
    ],
  },
  {
    name: 'VS Code',
    steps: (url) => [
      html`In a terminal:`,
      { copy: `code --add-mcp '${JSON.stringify({ name: 'tributary', type: 'http', url })}'` },
      html`Or in <code>.vscode/mcp.json</code> of a project:`,
      { copy: toJson({ servers: { tributary: { type: 'http', url } } }) },
    ],
  },
  {
    name: 'Gemini CLI',
    steps: (url) => [
      html`In a terminal:`,
      { copy: `gemini mcp add --transport http tributary ${url}` },
      html`Then type <code>/mcp auth tributary</code> in Gemini CLI.`,
    ],
  },
]

/** @param isLoopback only this machine reaches the server. */
export function renderClients(url: string, isLoopback: boolean): Html {
  return html`<h2>Connect an agent</h2>
<p>Give an agent this address. It opens a page here, where you choose what it may read.</p>
<p><code data-copy="the address">${url}</code></p>
${clients.map((client) => renderClient(client, url, isLoopback))}
<p><small>Any other client for remote MCP servers takes the address too. Leave fields for a client id or a secret empty.</small></p>`
}

function renderClient({ name, isRemote, steps }: AgentClient, url: string, isLoopback: boolean) {
  return html`<details class="client"><summary>${name}</summary>
${isRemote === true && isLoopback && html`<p>It runs at its vendor and cannot reach this address, which only this machine has: the server needs a public name with https.</p>`}
${steps(url).map((step) => ('copy' in step ? html`<pre><code data-copy="the text">${step.copy}</code></pre>` : html`<p>${step}</p>`))}
</details>`
}
