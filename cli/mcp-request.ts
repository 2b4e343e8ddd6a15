/**
 * One bounded HTTP exchange of the MCP doctor: JSON in both directions; redirects are reported, not followed.
 */

export interface McpAnswer {
  readonly status: number
  readonly headers: Headers
  /** Empty when the body is not a JSON object, or too long. */
  readonly body: Readonly<Record<string, unknown>>
}

const deadlineMs = 15_000
const maxBytes = 1024 * 1024

/** GET without a body, POST with one. Rejects when there is no answer in time. */
export async function ask(
  url: string,
  sent: { readonly body?: object; readonly headers?: Readonly<Record<string, string>> } = {},
): Promise<McpAnswer> {
  const response = await fetch(url, {
    method: sent.body === undefined ? 'GET' : 'POST',
    headers: {
      accept: 'application/json, text/event-stream',
      ...(sent.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...sent.headers,
    },
    body: sent.body === undefined ? null : JSON.stringify(sent.body),
    redirect: 'manual',
    signal: AbortSignal.timeout(deadlineMs),
  })
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.length
    if (size > maxBytes) break
    chunks.push(chunk)
  }
  const { status, headers } = response
  return { status, headers, body: parse(Buffer.concat(chunks).toString('utf8')) }
}

function parse(text: string): McpAnswer['body'] {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {}
  } catch {
    // The page of another server: the missing fields show that it is not ours.
    return {}
  }
}

/** The code of the network or certificate error; the message of `fetch` itself does not name the cause. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error'
  if (error.name === 'TimeoutError') return `no answer within ${deadlineMs / 1000} s`
  const { cause } = error
  if (!(cause instanceof Error)) return error.message
  return 'code' in cause ? `it cannot be reached (${String(cause.code)})` : cause.message
}
