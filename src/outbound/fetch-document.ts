/**
 * Fetches a small public document from a URL that an untrusted party named, through the address guard: one
 * GET, no redirects, no cookies, bounded size and time. The caller validates the content.
 */
import type { Dispatcher } from 'undici'
import { BlockedAddress, findUrlProblem } from './allowed-address.ts'
import { requestUntil } from './request-until.ts'

export interface DocumentOptions {
  /** A guarded agent; see `makeGuardedAgent`. */
  readonly agent: Dispatcher
  readonly maxBytes: number
  /** Bounds the whole fetch: resolving, connecting, waiting and reading. */
  readonly timeoutMs: number
  readonly allowPrivate?: boolean
}

/**
 * The document as a `Response` with status, headers and body; a redirect is returned like any other answer.
 * @throws BlockedAddress for an address that is not allowed, RangeError for a body over `maxBytes`, otherwise
 *   the errors of undici and of the timeout.
 */
export async function fetchDocument(url: string, options: DocumentOptions): Promise<Response> {
  const { allowPrivate = false } = options
  const problem = findUrlProblem(url, { allowPrivate })
  if (problem !== null) throw new BlockedAddress(`the address ${problem}`)
  const { origin, pathname, search } = new URL(url)
  const { statusCode, headers, body } = await requestUntil(
    AbortSignal.timeout(options.timeoutMs),
    options.agent,
    {
      origin,
      path: `${pathname}${search}`,
      method: 'GET',
      headers: {
        accept: 'application/json',
        // Without it any encoding may be sent (RFC 9110, 12.5.3), and the body is read as it comes.
        'accept-encoding': 'identity',
        'user-agent': 'tributary',
      },
    },
  )
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength
    if (size > options.maxBytes)
      throw new RangeError(`the document is over ${options.maxBytes} bytes`)
    chunks.push(chunk)
  }
  const cacheControl = headers['cache-control']
  return new Response(isEmpty(statusCode) ? null : Buffer.concat(chunks, size), {
    status: statusCode,
    headers: typeof cacheControl === 'string' ? { 'cache-control': cacheControl } : {},
  })
}

/** The statuses with which a `Response` may have no body. */
function isEmpty(status: number): boolean {
  return [204, 205, 304].includes(status)
}
