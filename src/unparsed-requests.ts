/**
 * Answers to what never became a request: bytes that are no HTTP, heads that are too large or came too slowly, tunnels.
 * They too get the one error envelope (specification, "Error envelope"), then the connection ends. No door is asked.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { apiError, toEnvelope } from '#contract/errors.ts'
import { isNamed } from '#doors/client.ts'

/** What the parser of node:http reports; `rawPacket` holds the bytes it stumbled over. */
export type ParseError = Error & { readonly code?: string; readonly rawPacket?: unknown }

/** A client that has not yet read its answer is given so long before the line is cut. */
const lingerMs = 1000

/** Answers a parse error or a timeout of the head, and ends the connection. */
export function answerUnparsed(error: ParseError, socket: Duplex): void {
  // The rest of what was refused already, or a client that is gone: nobody reads a second answer.
  if (socket.writableEnded) return
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
  if (error.code === 'HPE_INVALID_METHOD' && isRequestLine(error.rawPacket)) {
    answerTunnel(socket)
  } else {
    const { status, reason, message } = explain(error.code)
    end(socket, `${status} ${reason}`, JSON.stringify({ error: { message } }))
  }
}

/** CONNECT and methods that HTTP does not know are methods other than GET (reading R3, step 1). */
export function answerTunnel(socket: Duplex): void {
  end(socket, '404 Not Found', JSON.stringify(toEnvelope(apiError('not_found'))), 'BYPASS')
}

function explain(code: string | undefined) {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return {
        status: 431,
        reason: 'Request Header Fields Too Large',
        message: 'Request line and headers over 16 KiB',
      }
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return { status: 408, reason: 'Request Timeout', message: 'The request came too slowly' }
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return { status: 413, reason: 'Content Too Large', message: 'Chunk extensions too large' }
    default:
      return { status: 400, reason: 'Bad Request', message: 'This is no HTTP/1.1 request' }
  }
}

/** Whether the bytes begin like a request, e.g. `FOO /v1/accounts HTTP/1.1`, and not like noise or TLS. */
function isRequestLine(bytes: unknown): boolean {
  if (!(bytes instanceof Uint8Array)) return false
  return /^[A-Z-]{1,32} \S+ HTTP\/1\.[01]\r\n/.test(Buffer.from(bytes).toString('latin1'))
}

function end(socket: Duplex, status: string, body: string, cache?: 'BYPASS'): void {
  socket.end(
    [
      `HTTP/1.1 ${status}`,
      'Content-Type: application/json; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(body)}`,
      'Cache-Control: no-store',
      'X-Content-Type-Options: nosniff',
      ...(cache === undefined ? [] : [`X-Cache: ${cache}`]),
      'Connection: close',
      '',
      body,
    ].join('\r\n'),
  )
  // Cut at once, the answer could be lost with the bytes that were not read yet.
  const cut = setTimeout(() => socket.destroy(), lingerMs)
  socket.once('close', () => clearTimeout(cut))
}

/** RFC 9112 §3.2: HTTP/1.1 needs exactly one Host, and never has two. */
export function hasProperHost(request: IncomingMessage): boolean {
  const { rawHeaders } = request
  let hosts = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (isNamed(rawHeaders[index] ?? '', 'host')) hosts += 1
  }
  return hosts === 1 || (hosts === 0 && request.httpVersion === '1.0')
}

/** Answers a request without Host, or with two: nobody can say whom it is for. */
export function refuseHost(response: ServerResponse): void {
  const message = 'An HTTP/1.1 request needs exactly one Host header'
  response.shouldKeepAlive = false
  const body = JSON.stringify({ error: { message } })
  response.writeHead(400, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
  })
  response.end(body)
}

/** RFC 9112 §3.2.2: a server must accept `GET http://host/path`; the path is what counts here. */
export function toOriginForm(url: string): string {
  if (url.startsWith('/')) return url
  const origin = /^https?:\/\/[^/?#]*/i.exec(url)?.[0]
  if (origin === undefined) return url
  const rest = url.slice(origin.length)
  return rest.startsWith('/') ? rest : `/${rest}`
}
