/**
 * Raw HTTP/1.1: bytes out, answers in, over one socket, with a bound on every wait. It reads answers strictly
 * by their own framing, so that a byte too many or too few is seen; it judges nothing.
 */
import { connect, type Socket } from 'node:net'

export interface RawAnswer {
  readonly status: number
  /** Names in lower case; a repeated name is joined by a comma. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

export interface Exchange {
  readonly answers: readonly RawAnswer[]
  /** `surplus`: bytes came that belong to no answer. */
  readonly end: 'complete' | 'closed' | 'timeout' | 'surplus'
}

export interface Wire {
  /** Waits for one answer per method; the connection may close before. */
  read(methods: readonly string[], timeoutMs: number): Promise<Exchange>
  write(bytes: Buffer): void
  /** No more bytes from us; the other side may still answer. */
  halfClose(): void
  /** Gone at once, without a goodbye. */
  reset(): void
  destroy(): void
  /** Open, and nothing waits to be read. */
  isUsable(): boolean
  /** The other side has closed it. */
  isEnded(): boolean
}

/** Connects to a port of this machine, from one of its addresses. */
export function openWire(port: number, localAddress = '127.0.0.1'): Wire {
  const host = '127.0.0.1'
  const socket: Socket = connect({ port, host, localAddress, allowHalfOpen: true, noDelay: true })
  let held: Buffer = Buffer.alloc(0)
  let ended = false
  let changed: () => void = () => undefined
  socket.on('data', (chunk: Buffer) => {
    held = held.length === 0 ? chunk : Buffer.concat([held, chunk])
    changed()
  })
  for (const event of ['end', 'close', 'error']) {
    socket.on(event, () => {
      ended = true
      changed()
    })
  }

  async function read(methods: readonly string[], timeoutMs: number): Promise<Exchange> {
    const answers: RawAnswer[] = []
    const until = performance.now() + timeoutMs
    for (const method of methods) {
      for (;;) {
        const parsed = parseAnswer(held, method, ended)
        if (parsed !== null) {
          held = held.subarray(parsed.length)
          if (parsed.answer.status >= 200) {
            answers.push(parsed.answer)
            break
          }
          continue
        }
        if (ended) return { answers, end: held.length > 0 ? 'surplus' : 'closed' }
        const left = until - performance.now()
        if (left <= 0) return { answers, end: 'timeout' }
        await change(left)
      }
    }
    return { answers, end: held.length > 0 ? 'surplus' : 'complete' }
  }

  function change(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms)
      changed = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  return {
    read,
    write: (bytes) => void socket.write(bytes),
    halfClose: () => void socket.end(),
    reset: () => void socket.resetAndDestroy(),
    destroy: () => void socket.destroy(),
    isUsable: () => !ended && held.length === 0 && socket.writable,
    isEnded: () => ended,
  }
}

/** The first answer of these bytes and its length; null while it is not complete. */
function parseAnswer(
  bytes: Buffer,
  method: string,
  ended: boolean,
): { readonly answer: RawAnswer; readonly length: number } | null {
  const headEnd = bytes.indexOf('\r\n\r\n')
  if (headEnd === -1) return null
  const [first = '', ...lines] = bytes.toString('latin1', 0, headEnd).split('\r\n')
  const status = Number(/^HTTP\/1\.1 (\d{3})(?: |$)/.exec(first)?.[1] ?? Number.NaN)
  if (Number.isNaN(status)) return null
  const headers: Record<string, string> = {}
  for (const line of lines) {
    const colon = line.indexOf(':')
    const name = line.slice(0, colon).toLowerCase()
    const value = line.slice(colon + 1).trim()
    headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`
  }
  const start = headEnd + 4
  const made = (body: Buffer, length: number) => ({ answer: { status, headers, body }, length })
  if (method === 'HEAD' || status < 200 || status === 204 || status === 304) {
    return made(Buffer.alloc(0), start)
  }
  const told = headers['content-length']
  if (told !== undefined) {
    const length = Number(told)
    return bytes.length < start + length
      ? null
      : made(bytes.subarray(start, start + length), start + length)
  }
  if (headers['transfer-encoding'] === 'chunked') return readChunks(bytes, start, made)
  return ended ? made(bytes.subarray(start), bytes.length) : null
}

function readChunks<Made>(
  bytes: Buffer,
  start: number,
  made: (body: Buffer, length: number) => Made,
): Made | null {
  const chunks: Buffer[] = []
  let at = start
  while (at < bytes.length) {
    const lineEnd = bytes.indexOf('\r\n', at)
    if (lineEnd === -1) return null
    const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16)
    const next = lineEnd + 2 + size + 2
    if (bytes.length < next) return null
    if (size === 0) return made(Buffer.concat(chunks), next)
    chunks.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size))
    at = next
  }
  return null
}
