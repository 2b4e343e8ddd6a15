/**
 * Anchor: fetch, decode and JSON.parse of the same pages, nothing else. A GET makes one round over the URLs given as
 * JSON in the argument, with the same headers and the same client.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Pool } from 'undici'
import { serveChild } from './serve.ts'

const { origin, paths, headers } = JSON.parse(process.argv[2] ?? '{}')
const pool = new Pool(origin, { connections: 8 })
let rows = 0
const server = createServer(async (_request, response) => {
  for (const path of paths) {
    const answer = await pool.request({ method: 'GET', path, headers })
    const text = Buffer.from(await answer.body.arrayBuffer()).toString()
    rows += JSON.parse(text).transactions.length
  }
  const body = Buffer.from(String(rows))
  response.writeHead(200, { 'content-length': body.length })
  response.end(body)
})
server.listen(0, '127.0.0.1', () => serveChild({ port: (server.address() as AddressInfo).port }))
