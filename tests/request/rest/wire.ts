/**
 * Raw HTTP/1.1 over a socket, for requests that no client library would send: any method, any target, headers
 * twice. One exchange per connection; it knows nothing of what is asked.
 */
import { connect, type Socket } from 'node:net'

export interface WireRequest {
  readonly method?: string
  /** The request target exactly as it shall stand in the request line. */
  readonly target: string
  /** Sent in this order and as often as they stand here. */
  readonly headers?: readonly (readonly [string, string])[]
  readonly body?: string
}

export interface WireAnswer {
  readonly status: number
  /** Names in lower case; repeated ones joined by a comma. */
  readonly headers: Readonly<Record<string, string>>
  /** The body as it came; empty where there is none. */
  readonly text: string
}

const maxWaitMs = 10_000

/** Sends one request on a connection of its own and reads until the server closes it. */
export function exchange(baseUrl: string, request: WireRequest): Promise<WireAnswer> {
  const socket = open(baseUrl, request)
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    socket.setTimeout(maxWaitMs, () => socket.destroy(new Error('no answer came')))
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    socket.on('error', reject)
    socket.on('end', () => resolve(parse(Buffer.concat(chunks).toString('utf8'))))
  })
}

/** Sends one request and leaves the connection to the caller, who may close it. */
export function open(baseUrl: string, request: WireRequest): Socket {
  const { hostname, port, host } = new URL(baseUrl)
  const lines = [
    `${request.method ?? 'GET'} ${request.target} HTTP/1.1`,
    `Host: ${host}`,
    'Connection: close',
    ...(request.headers ?? []).map(([name, value]) => `${name}: ${value}`),
    ...(request.body === undefined ? [] : [`Content-Length: ${Buffer.byteLength(request.body)}`]),
  ]
  const socket = connect(Number(port), hostname)
  socket.write(`${lines.join('\r\n')}\r\n\r\n${request.body ?? ''}`)
  return socket
}

function parse(message: string): WireAnswer {
  const cut = message.indexOf('\r\n\r\n')
  const [first = '', ...lines] = message.slice(0, cut).split('\r\n')
  const headers: Record<string, string> = {}
  for (const line of lines) {
    const colon = line.indexOf(':')
    const name = line.slice(0, colon).toLowerCase()
    const value = line.slice(colon + 1).trim()
    headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`
  }
  return { status: Number(first.split(' ')[1]), headers, text: message.slice(cut + 4) }
}
