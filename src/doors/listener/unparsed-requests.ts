/**
 * Answers input that never became a request: bytes that are not HTTP, heads that are too large or arrived too
 * slowly, tunnels. Each gets the error envelope (contract, Error envelope), then the connection ends. No door
 * is involved.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { apiError, toEnvelope } from '#contract/errors.ts'
import { isNamed } from '../client.ts'
import { answerJson } from '../json-answer.ts'

/** What the parser of node:http reports: the packet with the error, and the position in it. */
export type ParseError = Error & {
  readonly code?: string
  readonly rawPacket?: unknown
  readonly bytesParsed?: number
}

/** How long a client may take to read its answer before the connection is closed. */
const lingerMs = 1000

/** Answers a parse error or a timeout of the head, and ends the connection. */
export function answerUnparsed(error: ParseError, socket: Duplex): void {
  // The rest of a refused request, or a client that has left: a second answer would not be read.
  if (socket.writableEnded) return
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
  if (error.code === 'HPE_INVALID_METHOD' && isRequestLine(error)) {
    answerTunnel(socket)
  } else {
    const { status, reason, message } = explain(error.code)
    end(socket, `${status} ${reason}`, JSON.stringify({ error: { message } }))
  }
}

/** CONNECT and methods unknown to HTTP count as methods other than GET (reading R3, step 1). */
export function answerTunnel(socket: Duplex): void {
  end(socket, '404 Not Found', JSON.stringify(toEnvelope(apiError('not_found'))), 'BYPASS')
}

/** Fields of a head. Each costs a hundred bytes beside its text; browsers and proxies send a few dozen. */
export const mostFields = 200

const tooLarge = {
  status: 431,
  reason: 'Request Header Fields Too Large',
  message: `Request line and headers over 16 KiB, or more than ${mostFields} header fields`,
}

function explain(code: string | undefined) {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return tooLarge
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return { status: 408, reason: 'Request Timeout', message: 'The request arrived too slowly' }
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return { status: 413, reason: 'Content Too Large', message: 'Chunk extensions too large' }
    default:
      return { status: 400, reason: 'Bad Request', message: 'This is not an HTTP/1.1 request' }
  }
}

/** Whether it begins like a request, e.g. `FOO /v1/accounts HTTP/1.1`, and not like bytes or TLS. */
function isRequestLine({ rawPacket, bytesParsed = 0 }: ParseError): boolean {
  if (!(rawPacket instanceof Uint8Array)) return false
  const text = Buffer.from(rawPacket).toString('latin1')
  // The same packet may contain other requests before it.
  const before = text.lastIndexOf('\r\n\r\n', bytesParsed)
  const start = before === -1 ? 0 : before + 4
  return /^[A-Z-]{1,32} \S+ HTTP\/1\.[01]\r\n/.test(text.slice(start))
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
  // Closing at once with unread bytes would reset the connection, and the answer could be lost.
  const cut = setTimeout(() => socket.destroy(), lingerMs)
  socket.once('close', () => clearTimeout(cut))
}

/** True: the head is not accepted, and the request was answered. */
export function refuseHead(request: IncomingMessage, response: ServerResponse): boolean {
  if (request.rawHeaders.length > 2 * mostFields) {
    refuse(response, tooLarge.status, tooLarge.message)
  } else if (!hasProperHost(request)) {
    refuse(response, 400, 'An HTTP/1.1 request needs exactly one Host header')
  } else return false
  return true
}

/** RFC 9112 §3.2: HTTP/1.1 needs exactly one Host, and never has two: its target would be ambiguous. */
function hasProperHost(request: IncomingMessage): boolean {
  const { rawHeaders } = request
  let hosts = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (isNamed(rawHeaders[index] ?? '', 'host')) hosts += 1
  }
  return hosts === 1 || (hosts === 0 && request.httpVersion === '1.0')
}

/** The last answer of its connection. */
function refuse(response: ServerResponse, status: number, message: string): void {
  response.shouldKeepAlive = false
  answerJson(response, status, { error: { message } })
}

/** RFC 9112 §3.2.2: a server must accept `GET http://host/path`; only the path is used here. */
export function toOriginForm(url: string): string {
  if (url.startsWith('/')) return url
  const origin = /^https?:\/\/[^/?#]*/i.exec(url)?.[0]
  if (origin === undefined) return url
  const rest = url.slice(origin.length)
  return rest.startsWith('/') ? rest : `/${rest}`
}

/** RFC 9110 §7.8: `Upgrade` counts where `Connection` names it. */
export function offersUpgrade({ headers }: IncomingMessage): boolean {
  return headers.upgrade !== undefined && /upgrade/i.test(headers.connection ?? '')
}
