/** What a parser of node:http is told while it parses, on a server of its own. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, IncomingMessage } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { countReads, passOver } from './unparsed-rest.ts'

test('parts of a body behind one that is too much are passed over, and the parser’s next connection reads its bodies', async (t) => {
  const parts: number[] = []
  class Counted extends IncomingMessage {
    #parts = 0
    override push(part: Uint8Array | null): boolean {
      if (part === null) parts.push(this.#parts)
      else if (++this.#parts === 10) passOver(this.socket)
      return super.push(part)
    }
  }
  const server = createServer({ IncomingMessage: Counted }, async (request, response) => {
    response.end(await text(request))
  })
  server.on('connection', (socket) => countReads(socket, () => {}))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const send = async (chunks: number) => {
    const socket = connect(port, '127.0.0.1')
    const head =
      'POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n'
    socket.write(`${head}${'1\r\nx\r\n'.repeat(chunks)}0\r\n\r\n`)
    const answer = await text(socket)
    if (!socket.closed) await once(socket, 'close')
    return answer.split('\r\n\r\n')[1]
  }
  assert.equal(await send(500), 'x'.repeat(10))
  // The parser that was told so is the next one that node:http uses.
  assert.equal(await send(9), 'x'.repeat(9))
  assert.deepEqual(parts, [10, 9])
})
