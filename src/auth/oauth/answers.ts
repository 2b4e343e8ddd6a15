/**
 * Answers that are ours and not the engine's: refusals as RFC 6749 §5.2 writes them, and the page for a person whose
 * browser was sent here with a request that cannot go on. Whatever a client said is escaped.
 */
import type { ServerResponse } from 'node:http'

export interface Refusal {
  /** A code of RFC 6749, 7591 or 8707. */
  readonly error: string
  readonly error_description?: string
}

/** On every answer of these endpoints; nothing of them may be kept, framed or told to the next page. */
export const guardHeaders: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'content-security-policy':
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}

/** Ends the response with a refusal as JSON. */
export function refuse(response: ServerResponse, status: number, refusal: Refusal): void {
  end(response, status, 'application/json; charset=utf-8', JSON.stringify(refusal))
}

/** Ends the response with a refusal as a page for a person. */
export function refuseOnPage(response: ServerResponse, status: number, refusal: Refusal): void {
  end(response, status, 'text/html; charset=utf-8', renderRefusal(refusal))
}

/** The page of a refusal; complete without style or script. */
export function renderRefusal({ error, error_description: description }: Refusal): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>This connection cannot go on</title>
</head>
<body>
<main>
<h1>This connection cannot go on</h1>
<p>${explain(error)}</p>
<p>The reason, for whoever looks after the agent: <code>${escapeText(error)}</code>${
    description === undefined ? '' : `, ${escapeText(description)}`
  }.</p>
</main>
</body>
</html>
`
}

function end(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, {
    ...guardHeaders,
    'content-type': type,
    'content-length': Buffer.byteLength(body),
  })
  response.end(body)
}

function explain(error: string): string {
  switch (error) {
    case 'invalid_client':
      return 'The agent is not known here, or not any more. Remove the connection in your agent and add it again.'
    case 'temporarily_unavailable':
      return 'There were too many requests. Wait a minute, then start again in your agent.'
    case 'server_error':
      return 'Something failed here. Wait a minute, then start again in your agent.'
    default:
      return 'The request of your agent is incomplete or has expired. Go back to your agent and start again.'
  }
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escapeText(text: string): string {
  return text.replace(/[&<>"']/g, (char) => entities[char] ?? char)
}
