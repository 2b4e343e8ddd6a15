/** A server that gives the answers of a case of sdk/cases.json in turn, and notes what it was asked. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { z } from 'zod'
import cases from '../../sdk/cases.json' with { type: 'json' }

const Answer = z.strictObject({
  status: z.int().default(200),
  headers: z.record(z.string(), z.string()).default({}),
  body: z.record(z.string(), z.unknown()).optional(),
  text: z.string().optional(),
  /** The connection breaks before the answer, or in the middle of it. */
  reset: z.boolean().default(false),
  cut: z.boolean().default(false),
})
type Answer = z.infer<typeof Answer>

const Case = z.strictObject({
  name: z.string(),
  call: z.strictObject({ list: z.string(), query: z.record(z.string(), z.unknown()) }),
  answers: z.array(Answer),
  requests: z.array(z.string()),
  ids: z.array(z.string()).optional(),
  values: z.record(z.string(), z.array(z.string().nullable())).optional(),
  error: z
    .strictObject({
      class: z.string(),
      status: z.int(),
      code: z.string().nullable(),
      message: z.string(),
      details: z.array(z.string()).default([]),
      requestId: z.string().nullable(),
      retryAfter: z.number().nullable(),
    })
    .optional(),
})
export type Case = z.infer<typeof Case>

export const allCases: readonly Case[] = z.array(Case).parse(cases.cases)

/** `account a1` in a case stands for a whole account. */
function toRow(given: unknown): unknown {
  const [kind, id] = typeof given === 'string' ? given.split(' ') : []
  if (kind !== 'account') return given
  return {
    id,
    connectionId: 'c1',
    provider: 'fiskil',
    name: `Account ${id}`,
    type: 'transaction',
    institutionName: 'Wattle Bank',
    accountNumber: 'xxxx4321',
    currency: 'AUD',
  }
}

function toText({ body, text = '' }: Answer): string {
  if (body === undefined) return text
  const { data } = body
  return JSON.stringify(Array.isArray(data) ? { ...body, data: data.map(toRow) } : body)
}

export interface Stub {
  readonly baseUrl: string
  readonly requests: readonly {
    readonly path: string
    readonly headers: IncomingMessage['headers']
  }[]
}

export async function openStub(t: TestContext, answers: readonly Answer[]): Promise<Stub> {
  const requests: { path: string; headers: IncomingMessage['headers'] }[] = []
  const server: Server = createServer((request: IncomingMessage, response: ServerResponse) => {
    const answer = answers[requests.length]
    requests.push({ path: request.url ?? '', headers: request.headers })
    if (answer === undefined) return void response.writeHead(500).end('no answer is left')
    if (answer.reset) return void request.socket.resetAndDestroy()
    const text = toText(answer)
    const type = answer.body === undefined ? 'text/html' : 'application/json'
    const length = Buffer.byteLength(text)
    response.writeHead(answer.status, {
      'content-type': type,
      'content-length': length,
      ...answer.headers,
    })
    if (!answer.cut) return void response.end(text)
    response.write(text.slice(0, -5), () => request.socket.destroy())
  })
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { baseUrl: `http://127.0.0.1:${port}`, requests }
}
