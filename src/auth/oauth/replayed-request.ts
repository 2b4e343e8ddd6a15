/**
 * A request whose body was read and whose head was put right, in the shape that the engine reads. The engine builds URLs
 * from the head, so host and scheme are ours and never the client's.
 */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'

export interface Replay {
  readonly url: string
  /** The origin that the engine shall believe to be asked at. */
  readonly origin: string
  /** Null for a request without a body. */
  readonly body: Uint8Array | null
}

/** The given request as `replay` says; the original is left as it is. */
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

/** The body is larger than allowed. */
export class BodyTooLarge extends Error {
  override readonly name = 'BodyTooLarge'
}

/**
 * Reads a body of at most `maxBytes`.
 * @throws BodyTooLarge as soon as that is known; the stream's own error when the client breaks off.
 */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<Uint8Array> {
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw new BodyTooLarge()
  const chunks: Uint8Array[] = []
  let size = 0
  // The stream is left alive when it is too large: the refusal goes out on its socket.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    size += chunk.byteLength
    if (size > maxBytes) throw new BodyTooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, size)
}
