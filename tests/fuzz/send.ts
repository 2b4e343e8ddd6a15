/**
 * From a drawn request to bytes on a socket and to a line that a person can paste into a shell. It knows
 * which requests are sound HTTP, so that a refusal below our code is distinguished from a failure of it.
 */
import type { FuzzRequest } from './requests.ts'
import { type Exchange, openWire, type Wire } from './wire.ts'
import type { World } from './world.ts'

export interface Head {
  /** Ids and keys filled in. */
  readonly target: string
  readonly headers: readonly (readonly [string, string])[]
  /** Valid HTTP/1.1 within Node's limits: it must reach our code and be answered by it. */
  readonly isSound: boolean
}

const soundMethod = /^(?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS|TRACE|QUERY)$/
const soundTarget = /^\/[\x21-\x7e]*$/
const soundName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const soundValue = /^[\t\x20-\x7e\x80-\xff]*$/
/** They change how the connection continues, or whether Node answers by itself. */
const steering =
  /^(?:connection|expect|upgrade|te|transfer-encoding|content-length|host|keep-alive)$/i
/** The whole head may have 16 KiB and 200 fields, with those that are always sent. */
const soundHeadBytes = 15_000
const soundHeaders = 195

export function headOf(world: World, request: FuzzRequest): Head {
  const target = world.resolve(request.target)
  const headers = request.headers.map(([name, value]) => [name, world.resolve(value)] as const)
  const bytes = headers.reduce(
    (sum, [name, value]) => sum + name.length + value.length + 4,
    target.length,
  )
  const isSound =
    soundMethod.test(request.method) &&
    soundTarget.test(target) &&
    bytes < soundHeadBytes &&
    headers.length < soundHeaders &&
    headers.every(([name, value]) => soundName.test(name) && soundValue.test(value)) &&
    !headers.some(([name]) => steering.test(name))
  return { target, headers, isSound }
}

/** RFC 9112 §3.2.2: with scheme and host in front it is the same request. */
export function toOriginForm(target: string): string {
  const rest = target.replace(/^https?:\/\/[^/?#]*/i, '')
  return rest.startsWith('/') || target === '*' ? rest : `/${rest}`
}

/** The request as it goes over the wire. */
export function toBytes(world: World, request: FuzzRequest): Buffer {
  const { target, headers } = headOf(world, request)
  const lines = [
    `${request.method} ${target} HTTP/1.1`,
    `Host: 127.0.0.1:${world.port}`,
    ...headers.map(([name, value]) => `${name}: ${value}`),
    ...(request.body === '' ? [] : [`Content-Length: ${request.body.length}`]),
  ]
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${request.body}`, 'latin1')
}

export interface Sender {
  /** One request, one answer; on a connection that is kept where that is sound. */
  send(request: FuzzRequest): Promise<Exchange>
  close(): void
}

/** Sound requests share kept connections, as clients do; every other one gets a connection of its own. */
export function makeSender(world: World, timeoutMs: number): Sender {
  const idle: Wire[] = []

  return {
    async send(request) {
      const { isSound } = headOf(world, request)
      let wire = isSound ? idle.pop() : undefined
      while (wire !== undefined && !wire.isUsable()) wire = idle.pop()
      wire ??= openWire(world.port)
      wire.write(toBytes(world, request))
      const exchange = await wire.read([request.method], timeoutMs)
      const [answer] = exchange.answers
      const isKept =
        isSound && exchange.end === 'complete' && answer?.headers.connection !== 'close'
      if (isKept) idle.push(wire)
      else wire.destroy()
      return exchange
    },
    close: () => {
      for (const wire of idle.splice(0)) wire.destroy()
    },
  }
}

/** The request as one line for a shell: curl where curl can say it, else the bytes themselves. */
export function toShell(world: World, request: FuzzRequest): string {
  const { target, headers, isSound } = headOf(world, request)
  if (!isSound) {
    const bytes = Array.from(toBytes(world, request), (byte) =>
      byte >= 32 && byte < 127 && !"%\\'".includes(String.fromCharCode(byte))
        ? String.fromCharCode(byte)
        : `\\${byte.toString(8).padStart(3, '0')}`,
    )
    return `printf '${bytes.join('')}' | nc 127.0.0.1 ${world.port}`
  }
  const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`
  return [
    'curl -sSi --path-as-is --globoff',
    ...(request.method === 'GET'
      ? []
      : [request.method === 'HEAD' ? '-I' : `-X ${request.method}`]),
    ...headers.map(([name, value]) => `-H ${quote(`${name}: ${value}`)}`),
    ...(request.body === '' ? [] : [`--data-binary ${quote(request.body)}`]),
    quote(`http://127.0.0.1:${world.port}${target}`),
  ].join(' ')
}
