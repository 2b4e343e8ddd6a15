/** Binds a listener to a host and port; `localhost` means both of its addresses, as browsers try either. */
import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Listener, RequestHandler } from './listener.ts'

/**
 * Resolves with the port; rejects when the first address cannot be bound, e.g. because the port is in use.
 * Another address of `localhost` that cannot be bound is left out: a machine without IPv6 has none.
 */
export async function bind(
  listener: Listener,
  handler: RequestHandler,
  host: string,
  port: number,
): Promise<number> {
  const open = async (address: string, wanted: number) => {
    const server = listener.makeServer(handler).on('clientError', listener.clientErrorHandler)
    await listen(server, address, wanted)
    return server.address() as AddressInfo
  }
  const bound = await open(host, port)
  if (host === 'localhost') {
    for (const { address } of await lookup(host, { all: true })) {
      if (address !== bound.address) await open(address, bound.port).catch(() => {})
    }
  }
  return bound.port
}

/**
 * Connections that the kernel holds until the event loop accepts them, where it allows as many. It drops what
 * comes beyond, and whoever was dropped tries again after one second, then three, seven and fifteen.
 */
const backlog = 4096

async function listen(server: Server, host: string, port: number): Promise<void> {
  server.listen({ host, port, backlog })
  await once(server, 'listening')
}
