/**
 * A raw socket to a running service: bytes out, answers in. For requests that no well-behaved client would
 * send.
 */
import { connect, type Socket } from 'node:net'

export interface RawAnswer {
  readonly status: number
  /** Lower-case names; a repeated header's values are joined by a line feed. */
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

export interface RawExchange {
  readonly answers: readonly RawAnswer[]
  /** The server closed the connection. */
  readonly closed: boolean
}

const deadlineMs = 15_000

/** Opens a connection to the origin. */
export function dial(origin: string): Promise<Socket> {
  const { hostname, port } = new URL(origin)
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname)
    socket.once('connect', () => resolve(socket))
    socket.once('error', reject)
  })
}

/**
 * Sends the bytes and reads `count` answers, or fewer when the server closes before; gives up after fifteen
 * seconds.
 */
export async function sendRaw(
  origin: string,
  bytes: string | Uint8Array,
  count = 1,
): Promise<RawExchange> {
  const socket = await dial(origin)
  socket.write(bytes)
  const exchange = await receive(socket, count)
  socket.destroy()
  return exchange
}

/** Reads from an open socket: see `sendRaw`. */
export function receive(socket: Socket, count: number): Promise<RawExchange> {
  let text = ''
  return new Promise((resolve, reject) => {
    const finish = (closed: boolean) => {
      clearTimeout(timer)
      socket.removeAllListeners('data')
      resolve({ answers: parseAnswers(text), closed })
    }
    const timer = setTimeout(
      () => reject(new Error(`no ${count} answers in time: ${text.slice(0, 500)}`)),
      deadlineMs,
    )
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      if (parseAnswers(text).filter(({ status }) => status >= 200).length >= count) finish(false)
    })
    // A reset counts as closed: the server may have closed before it read everything.
    socket.once('error', () => finish(true))
    socket.once('close', () => finish(true))
  })
}

function parseAnswers(text: string): RawAnswer[] {
  const answers: RawAnswer[] = []
  let rest = text
  while (rest !== '') {
    const end = rest.indexOf('\r\n\r\n')
    if (end === -1) break
    const [statusLine = '', ...lines] = rest.slice(0, end).split('\r\n')
    const headers: Record<string, string> = {}
    for (const line of lines) {
      const colon = line.indexOf(':')
      const name = line.slice(0, colon).toLowerCase()
      const value = line.slice(colon + 1).trim()
      headers[name] = headers[name] === undefined ? value : `${headers[name]}\n${value}`
    }
    const status = Number(statusLine.split(' ')[1])
    const length = status < 200 ? 0 : Number(headers['content-length'] ?? rest.length - end - 4)
    if (rest.length < end + 4 + length) break
    answers.push({ status, headers, text: rest.slice(end + 4, end + 4 + length) })
    rest = rest.slice(end + 4 + length)
  }
  return answers
}
