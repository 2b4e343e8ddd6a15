/**
 * A connection to a server that a test can cut, block and restore: a TCP relay in this process, so that no
 * shared server has to be stopped.
 */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface CutLine {
  readonly port: number
  /** Breaks every connection and refuses new ones. */
  cut(): Promise<void>
  /** Connections stand, new ones are taken, and nothing passes any more. */
  silence(): void
  /** From now on whatever passes takes so long; 0: no longer. */
  delay(ms: number): void
  mend(): Promise<void>
  close(): Promise<void>
}

/** Starts the relay to `host`:`port`. */
export async function makeCutLine(target: { host: string; port: number }): Promise<CutLine> {
  const sockets = new Set<Socket>()
  let silent = false
  let delayMs = 0
  const server = createServer((near) => {
    const far = connect(target)
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      from.on('data', (bytes) => {
        if (silent) return
        if (delayMs === 0) to.write(bytes)
        else setTimeout(() => to.destroyed || to.write(bytes), delayMs)
      })
      // Whichever end breaks takes the other along.
      from.on('error', () => to.destroy())
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
    }
  })
  const listen = async (port: number) => {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
  }
  const breakAll = async () => {
    const closed = server.listening ? once(server, 'close') : undefined
    server.close()
    for (const socket of sockets) socket.destroy()
    await closed
  }
  await listen(0)
  const { port } = server.address() as AddressInfo
  return {
    port,
    cut: breakAll,
    silence() {
      silent = true
    },
    delay(ms) {
      delayMs = ms
    },
    async mend() {
      if (silent) await breakAll()
      silent = false
      await listen(port)
    },
    async close() {
      if (server.listening) await breakAll()
    },
  }
}
