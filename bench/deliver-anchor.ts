/**
 * Anchor: a bare loop of undici over signed events that were made before. A GET posts as many as it says and
 * answers with the milliseconds that this took. Argument: the URL of the receiver.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Agent, request } from 'undici'
import { newId } from '#kernel/ids.ts'
import { mintSecret, signatureHeaders } from '#webhooks/sign.ts'
import { makeEvent } from './deliver-messages.ts'
import { serveChild } from './serve.ts'
import { measureStall } from './span.ts'

const url = process.argv[2] ?? ''
const inFlight = 64
const agent = new Agent({ connections: inFlight, pipelining: 1 })
const secrets = [mintSecret()]

function makeMessage(rows: number) {
  const { id, body } = makeEvent(newId(), newId(), { rows })
  const timestamp = Math.floor(Date.now() / 1000)
  const signed = signatureHeaders({ id, timestamp, body }, secrets)
  return { headers: { ...signed, 'content-type': 'application/json' }, body }
}

async function post(messages: ReturnType<typeof makeMessage>[]): Promise<void> {
  for (let message = messages.pop(); message !== undefined; message = messages.pop()) {
    const answer = await request(url, { dispatcher: agent, method: 'POST', ...message })
    await answer.body.dump()
  }
}

const server = createServer(async (asked, response) => {
  const { searchParams } = new URL(asked.url ?? '/', 'http://127.0.0.1')
  const count = Number(searchParams.get('count'))
  const messages = Array.from({ length: count }, () =>
    makeMessage(Number(searchParams.get('rows'))),
  )
  const span = await measureStall(() =>
    Promise.all(Array.from({ length: inFlight }, () => post(messages))),
  )
  response.end(JSON.stringify(span))
})
server.listen(0, '127.0.0.1', () => serveChild({ port: (server.address() as AddressInfo).port }))
