/**
 * Asks a port which protocol it speaks, once a connection has failed in a way that does not say so: it ends
 * the connection, or never answers. For words to operators only; nothing of what is sent or received matters
 * beyond that.
 */
import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'

export interface Port {
  readonly host: string
  readonly port: number
}

const waitMs = 1000

/** True when it completes a TLS handshake, whatever its certificate. */
export function speaksTls({ host, port }: Port): Promise<boolean> {
  const socket = connectTls({ host: toBare(host), port, rejectUnauthorized: false })
  return settle(socket, 'secureConnect', () => true)
}

/** True when it answers a command of Redis that is not encrypted. */
export function speaksPlainRedis({ host, port }: Port): Promise<boolean> {
  const socket = connect({ host: toBare(host), port })
  socket.once('connect', () => socket.write('PING\r\n'))
  return settle(socket, 'data', (first) => /^[+-]/.test(String(first)))
}

const toBare = (host: string) => host.replace(/^\[(.*)\]$/, '$1')

function settle(
  socket: ReturnType<typeof connect>,
  event: 'data' | 'secureConnect',
  judge: (first: unknown) => boolean,
): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (is: boolean) => {
      clearTimeout(timer)
      socket.destroy()
      resolve(is)
    }
    const timer = setTimeout(end, waitMs, false)
    socket.once(event, (first?: unknown) => end(judge(first)))
    // It does not speak it; the reason does not matter.
    socket.on('error', () => end(false))
    socket.once('close', () => end(false))
  })
}
