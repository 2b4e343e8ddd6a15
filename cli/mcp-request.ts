/** One bounded HTTP exchange of the doctor for agents: JSON out, JSON in, redirects shown and not followed. */

export interface Answer {
  readonly status: number
  readonly headers: Headers
  /** Empty for whatever is no JSON object, or too long. */
  readonly body: Readonly<Record<string, unknown>>
}

const patienceMs = 15_000
const maxBytes = 1024 * 1024

/** GET without a body, POST with one. Rejects when nobody answers in time. */
export async function ask(
  url: string,
  sent: { readonly body?: object; readonly headers?: Readonly<Record<string, string>> } = {},
): Promise<Answer> {
  const response = await fetch(url, {
    method: sent.body === undefined ? 'GET' : 'POST',
    headers: {
      accept: 'application/json, text/event-stream',
      ...(sent.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...sent.headers,
    },
    body: sent.body === undefined ? null : JSON.stringify(sent.body),
    redirect: 'manual',
    signal: AbortSignal.timeout(patienceMs),
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

function parse(text: string): Answer['body'] {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {}
  } catch {
    // Somebody else's page: that it is not ours shows in what it lacks.
    return {}
  }
}

/** The code of the network or of the certificate; the message of `fetch` itself says nothing. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'it failed for no known reason'
  if (error.name === 'TimeoutError') return `no answer within ${patienceMs / 1000} s`
  const { cause } = error
  if (!(cause instanceof Error)) return error.message
  return 'code' in cause ? `it cannot be reached (${String(cause.code)})` : cause.message
}
