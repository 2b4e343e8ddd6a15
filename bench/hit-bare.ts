/**
 * Anchor: node:http that writes the same bytes with one `writeHead` and one `end`, and does nothing else.
 * Argument: a list of answers as JSON, each with its path, its flat list of headers and the length of its
 * body.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { listenerTimes } from '#doors/listener/listener.ts'
import { serveChild } from './serve.ts'

interface Prepared {
  readonly path: string
  readonly headers: string[]
  readonly length: number
}

const prepared: readonly Prepared[] = JSON.parse(process.argv[2] ?? '[]')
const answers = new Map(
  prepared.map(({ path, headers, length }) => [path, { headers, body: Buffer.alloc(length, 120) }]),
)
const server = createServer((request, response) => {
  const answer = answers.get(request.url ?? '')
  if (answer === undefined) throw new Error('an answer that is not prepared')
  response.writeHead(200, answer.headers)
  response.end(answer.body)
})
// A header contains it: otherwise the bytes would differ.
server.keepAliveTimeout = listenerTimes.keepAliveMs
server.listen(0, '127.0.0.1', () => serveChild({ port: (server.address() as AddressInfo).port }))
