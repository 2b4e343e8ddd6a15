/**
 * Rebuilds a request for the engine after its body was read and its head corrected. The engine builds URLs from the
 * head, so host and scheme come from us and never from the client.
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

/** The body exceeds the limit. */
export class BodyTooLarge extends Error {
  override readonly name = 'BodyTooLarge'
}

/**
 * Reads a body of at most `maxBytes`.
 * @throws BodyTooLarge as soon as the limit is exceeded; the stream's own error when the client disconnects.
 */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<Uint8Array> {
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw new BodyTooLarge()
  // There is no body, and its stream counts as destroyed.
  if (request.readableEnded) return new Uint8Array()
  const chunks: Uint8Array[] = []
  let size = 0
  // Do not destroy a stream that is too large: the refusal is sent on its socket.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    size += chunk.byteLength
    if (size > maxBytes) throw new BodyTooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, size)
}
