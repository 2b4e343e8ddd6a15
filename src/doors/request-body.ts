/** Reads a request's body whole, within a limit: it is read before the client is known, so no more is ever buffered. */
import type { IncomingMessage } from 'node:http'
import { ClientDisconnected } from './client.ts'

/**
 * The bytes; `too_large` when more are declared or come; ClientDisconnected when the client left during its request. These
 * are returned, not thrown, because the caller decides what each costs.
 */
export function readBody(
  request: IncomingMessage,
  maxBytes: number,
): Promise<Uint8Array | 'too_large' | ClientDisconnected> {
  return new Promise((resolve) => {
    let isRead = false
    const finish = (outcome: Uint8Array | 'too_large' | ClientDisconnected) => {
      isRead = true
      resolve(outcome)
    }
    const refuse = () => {
      // The rest of the body is discarded.
      request.removeAllListeners('data')
      request.resume()
      finish('too_large')
    }
    if (Number(request.headers['content-length'] ?? 0) > maxBytes) return refuse()
    // There is no body, so that no event will come.
    if (request.readableEnded) return finish(new Uint8Array())
    const chunks: Buffer[] = []
    let size = 0
    request.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size <= maxBytes) chunks.push(chunk)
      else refuse()
    })
    request.on('end', () => {
      const [only] = chunks
      finish(only !== undefined && chunks.length === 1 ? only : Buffer.concat(chunks))
    })
    // Every request closes, most of them after their end: an error is only made where it is the outcome.
    const breakOff = () => {
      if (!isRead) finish(new ClientDisconnected('the client disconnected during its request'))
    }
    request.on('error', breakOff)
    request.on('close', breakOff)
    // The request was aborted before the listeners were added.
    if (request.destroyed) breakOff()
  })
}
