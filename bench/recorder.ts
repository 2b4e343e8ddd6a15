/**
 * A proxy in front of an emulator that caches its pages of rows as bytes, so that a page costs the provider
 * no CPU and is sent after exactly the configured delay, or after the configured delays in turn. Other
 * requests are passed on.
 */
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

export interface Recorder {
  readonly url: string
}

interface Recorded {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

/**
 * The recorder's own path: returns how many pages it served, and resets it with another delay, or with
 * several, joined by commas.
 */
export const controlPath = '/recorder'
const maxPages = 100

/** Listens before `origin`; rows are pages of a path that matches. */
export async function startRecorder(origin: string, rows: RegExp): Promise<Recorder> {
  const pages = new Map<string, Recorded>()
  let served: string[] = []
  let delaysMs = [0]

  async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(incoming.url ?? '/', origin)
    if (url.pathname === controlPath) {
      delaysMs = (url.searchParams.get('delayMs') ?? '0').split(',').map(Number)
      response.end(JSON.stringify({ served }))
      served = []
      return
    }
    if (!rows.test(url.pathname)) return write(response, await pass(incoming, url))
    // Pages are identified by their cursor alone: the emulator's rows do not change, and no query asks for
    // fewer of them.
    const page = url.searchParams.get('page[after]') ?? url.searchParams.get('offset') ?? ''
    const delayMs = delaysMs[served.length % delaysMs.length]
    served.push(page)
    const [recorded] = await Promise.all([pages.get(page) ?? pass(incoming, url), sleep(delayMs)])
    if (pages.size < maxPages && recorded.status === 200) pages.set(page, recorded)
    write(response, recorded)
  }

  const server = createServer((incoming, response) => {
    answer(incoming, response).catch((error: unknown) => response.destroy(error as Error))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

function write(response: ServerResponse, { status, headers, body }: Recorded): void {
  response.writeHead(status, headers)
  response.end(body)
}

async function readBody(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return Buffer.concat(chunks)
}

async function pass(incoming: IncomingMessage, url: URL): Promise<Recorded> {
  const { method, headers } = incoming
  const body = await readBody(incoming)
  return new Promise((resolve, reject) => {
    const asked = request(url, { method, headers }, (answered) => {
      readBody(answered).then((bytes) => {
        const type = answered.headers['content-type'] ?? 'application/json'
        const kept = { 'content-type': type, 'content-length': String(bytes.length) }
        resolve({ status: answered.statusCode ?? 500, headers: kept, body: bytes })
      }, reject)
    })
    asked.on('error', reject)
    asked.end(body)
  })
}
