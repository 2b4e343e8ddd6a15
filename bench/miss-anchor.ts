/**
 * Anchor: fetch, decode and JSON.parse of the same pages, nothing else. A GET makes one round over the pages
 * given as JSON in the argument, with the same headers and the same client: one after another, or the first
 * one, then all others at once, then the first one again.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Pool } from 'undici'
import { serveChild } from './serve.ts'

/** What the anchor reads. */
export interface AnchorPages {
  readonly origin: string
  readonly paths: readonly string[]
  readonly headers: Readonly<Record<string, string>>
  /** The key of the rows on a page. */
  readonly list: string
  /** Numbered pages: after the first one the others are known. */
  readonly isNumbered: boolean
}

const { origin, paths, headers, list, isNumbered }: AnchorPages = JSON.parse(
  process.argv[2] ?? '{}',
)
const pool = new Pool(origin, { connections: 8 })
let rows = 0

async function read(path: string): Promise<void> {
  const answer = await pool.request({ method: 'GET', path, headers })
  const text = Buffer.from(await answer.body.arrayBuffer()).toString()
  rows += JSON.parse(text)[list].length
}

const server = createServer(async (_request, response) => {
  const [first = '', ...others] = paths
  await read(first)
  if (isNumbered) {
    await Promise.all(others.map(read))
    await read(first)
  } else for (const path of others) await read(path)
  const body = Buffer.from(String(rows))
  response.writeHead(200, { 'content-length': body.length })
  response.end(body)
})
server.listen(0, '127.0.0.1', () => serveChild({ port: (server.address() as AddressInfo).port }))
