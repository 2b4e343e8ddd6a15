/**
 * How the endpoints refuse: as JSON to a client (RFC 6749 §5.2), and as a page to a person whose browser was
 * sent here with a request that cannot continue. The page itself is rendered by the caller.
 */
import type { ServerResponse } from 'node:http'

export interface OAuthRefusal {
  /** An error code of RFC 6749, 7591 or 8707. */
  readonly error: string
  /** May contain text from the client. */
  readonly error_description?: string
}

/**
 * Renders the page of a refusal, with a link back; nothing in it may load from another origin. `agent`: what
 * the client calls itself, where it is known.
 */
export type RenderRefusal = (refusal: OAuthRefusal, agent?: string | null) => string

/** Sent with every answer of these endpoints: no caching, no framing, no referrer. */
export const guardHeaders: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'content-security-policy':
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}

/** The content security policy of a refusal page: our styles and images are allowed, forms are not. */
export const pagePolicy =
  "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

export function refuse(response: ServerResponse, status: number, refusal: OAuthRefusal): void {
  end(response, status, 'application/json; charset=utf-8', JSON.stringify(refusal))
}

export function refuseOnPage(response: ServerResponse, status: number, page: string): void {
  response.setHeader('content-security-policy', pagePolicy)
  end(response, status, 'text/html; charset=utf-8', page)
}

function end(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, {
    'content-type': type,
    'content-length': Buffer.byteLength(body),
  })
  response.end(body)
}
