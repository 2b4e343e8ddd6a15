/** For the tests of the kit: a proxy in front of a good server that breaks one promise at a time. */
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Passing {
  status: number
  readonly headers: Record<string, string>
  /** The parsed body; its changes are sent. */
  // biome-ignore lint/suspicious/noExplicitAny: a mutation changes whatever field it knows of.
  body: any
}

export interface Passed {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingMessage['headers']
}

/** Changes an answer on its way, or leaves it as it is. */
export type Mutation = (answer: Passing, request: Passed) => void

export interface BrokenProxy {
  readonly url: string
  mutate: Mutation
  close(): void
}

export async function startBrokenProxy(target: string): Promise<BrokenProxy> {
  const server = createServer((request, response) => {
    const url = new URL(`http://proxy.invalid${request.url}`)
    forward(target, request)
      .then((answer) => {
        const { method = '', headers } = request
        proxy.mutate(answer, { method, path: url.pathname, query: url.searchParams, headers })
        const text = answer.body === null ? '' : JSON.stringify(answer.body)
        response.writeHead(answer.status, answer.headers).end(text)
      })
      .catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const proxy: BrokenProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    mutate: () => {},
    close: () => void server.close().closeAllConnections(),
  }
  return proxy
}

async function forward(target: string, { url = '', method = '', headers }: IncomingMessage) {
  const { authorization } = headers
  const response = await fetch(target + url, {
    method,
    headers: authorization === undefined ? {} : { authorization },
  })
  const text = await response.text()
  const kept = [...response.headers].filter(
    ([name]) =>
      !['content-length', 'content-encoding', 'connection', 'transfer-encoding'].includes(name),
  )
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true
  const body: unknown = isJson && text !== '' ? JSON.parse(text) : null
  return { status: response.status, headers: Object.fromEntries(kept), body }
}
