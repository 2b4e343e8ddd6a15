/**
 * A receiver in a process of its own: reads a body to its end and answers 200 with the time when its headers
 * came.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serveChild } from './serve.ts'

const server = createServer((request, response) => {
  // The monotonic clock is one for all processes of the machine.
  const body = Buffer.from(String(process.hrtime.bigint()))
  request.on('end', () => {
    response.writeHead(200, { 'content-length': body.length })
    response.end(body)
  })
  request.resume()
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => serveChild({ port: (server.address() as AddressInfo).port }))
