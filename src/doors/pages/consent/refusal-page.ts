/**
 * The page for a person whose browser an agent sent here with a request that cannot continue: what happened,
 * what to do, and a link back. The agent's text is escaped.
 */
import type { OAuthRefusal, RenderRefusal } from '#auth/oauth/answers.ts'
import { readAssets } from '../assets.ts'
import { foreignText, type Html, html } from '../html.ts'
import { renderPage } from '../layout.ts'

/** Reads the pages' style sheet once. */
export async function makeRefusalPage(): Promise<RenderRefusal> {
  const assets = await readAssets()
  return (refusal, agent = null) => {
    const body = renderRefusal(refusal, agent)
    return renderPage({ title: heading, visit: null, body }, assets)
  }
}

const heading = 'This connection cannot continue'

function renderRefusal(
  { error, error_description: description }: OAuthRefusal,
  agent: string | null,
): Html {
  return html`<article class="card">
<h1>${heading}</h1>
${agent !== null && html`<p>The agent calls itself <span class="foreign">${foreignText(agent)}</span>.</p>\n`}<p>${explain(error)}</p>
<p>Nothing was shown to the agent, and nothing has changed here. You may close this page, or go <a href="/">back to the start</a> to see which <a href="/agents">agents are connected</a>.</p>
<p><small>The reason, for the developer of the agent: <code>${foreignText(error)}</code>${description !== undefined && html`, ${foreignText(description, 300)}`}.</small></p>
</article>`
}

function explain(error: string): string {
  switch (error) {
    case 'invalid_client':
      return 'This server does not know the agent, or no longer does. Remove the connection in your agent and add it again.'
    case 'foreign_host':
      return 'The agent used an address that does not belong to this server. Remove the connection in your agent and add it again, with the address that the operator gave you.'
    case 'invalid_redirect_uri':
      return 'The agent wants the answer sent to an address that it did not register. Remove the connection in your agent and add it again.'
    case 'temporarily_unavailable':
      return 'There were too many requests. Wait a minute, then start again in your agent.'
    case 'server_error':
      return 'Something failed here. Wait a minute, then start again in your agent.'
    case 'login_required':
    case 'consent_required':
    case 'interaction_required':
      return 'The agent requested access without asking you. Start again in your agent, so that it asks you.'
    default:
      return 'The request of your agent is incomplete or has expired. Go back to your agent and start again.'
  }
}
