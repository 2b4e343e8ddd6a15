/** Anchor: node:http that writes the same bytes, one `writeHead`, one `end`, no work. Argument: the body's size. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serveChild } from './serve.ts'

const bodies = new Map(
  process.argv.slice(2).map((size) => [`/${size}`, Buffer.alloc(Number(size), 120)]),
)
const server = createServer((request, response) => {
  const body = bodies.get(request.url ?? '') ?? Buffer.alloc(0)
  response.writeHead(200, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': body.length,
  })
  response.end(body)
})
server.listen(0, '127.0.0.1', () => serveChild({ port: (server.address() as AddressInfo).port }))
