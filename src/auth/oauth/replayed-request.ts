/**
 * Rebuilds a request for the engine after its body was read and its head corrected. The engine builds URLs
 * from the head, so host and scheme come from us and never from the client.
 */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'

export interface Replay {
  readonly url: string
  /** The origin under which the engine shall process the request. */
  readonly origin: string
  /** Null for a request without a body. */
  readonly body: Uint8Array | null
}

/** Returns a new request as `replay` describes; the original is not changed. */
export function replayRequest(request: IncomingMessage, replay: Replay): IncomingMessage {
  const { url, origin, body } = replay
  const { host, protocol } = new URL(origin)
  const headers: IncomingHttpHeaders = {
    ...request.headers,
    host,
    'x-forwarded-host': host,
    'x-forwarded-proto': protocol.slice(0, -1),
  }
  delete headers['transfer-encoding']
  delete headers['content-length']
  if (body !== null) headers['content-length'] = String(body.byteLength)
  return Object.create(request, {
    url: { value: url, writable: true },
    headers: { value: headers },
    readable: { value: true },
    readableEncoding: { value: null },
    iterator: { value: () => once(body) },
  })
}

async function* once(body: Uint8Array | null): AsyncGenerator<Uint8Array> {
  if (body !== null) yield body
}
