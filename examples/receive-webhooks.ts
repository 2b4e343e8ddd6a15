/**
 * Receives events and verifies them with the stock library of Standard Webhooks. WEBHOOK_SECRET is what
 * `tributary webhooks create` printed (`whsec_…`); PORT is where it listens on this machine (8080).
 */
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Webhook } from 'standardwebhooks'

const webhook = new Webhook(process.env.WEBHOOK_SECRET ?? '')
const maxBytes = 16 * 1024 * 1024

/** The bytes as they came: a body that was parsed and written again has another signature. */
async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > maxBytes) throw new RangeError('the body is too large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** Ids of events that were handled; a real receiver keeps them as long as events are replayed. */
const handled = new Set<string>()

/** JSON.parse makes floats, which change an amount beyond 2^53: its text is read (Node 22 or newer). */
const readAmount = (key: string, value: unknown, context?: { source?: string }): unknown =>
  key === 'amount' && context?.source !== undefined ? BigInt(context.source) : value

async function receive(request: IncomingMessage): Promise<number> {
  const body = await readBody(request)
  const header = (name: string) => String(request.headers[name] ?? '')
  const id = header('webhook-id')
  try {
    webhook.verify(body, {
      'webhook-id': id,
      'webhook-timestamp': header('webhook-timestamp'),
      'webhook-signature': header('webhook-signature'),
    })
  } catch {
    return 401
  }
  // The same event may arrive twice: when an answer is lost the event is sent again.
  if (!handled.has(id)) {
    handled.add(id)
    const { type, data, metadata } = JSON.parse(body, readAmount)
    console.log(`${type}: ${metadata.new_count} new, ${metadata.updated_count} updated`)
    // Amounts of trades are strings, under other names.
    for (const { amount, currency } of data.new) {
      if (amount !== undefined) console.log(`  ${amount} ${currency}`)
    }
  }
  return 204
}

const server = createServer((request, response) => {
  receive(request)
    .then((status) => response.writeHead(status).end())
    .catch(() => response.destroy())
})
server.listen(Number(process.env.PORT ?? 8080), '127.0.0.1', () => {
  console.log(`listening on port ${(server.address() as AddressInfo).port}`)
})
