/**
 * A cached call of a tool against the cached REST request that it stands for, on the same service and core: what the
 * protocol, the second copy of the JSON and the schemas of the library cost. CPU per request is the figure.
 */
import { Agent, request } from 'node:http'
import { type Child, startChild } from './child.ts'

const rounds = 7
const requestsPerTurn = 800
const connections = 8

interface Facts {
  readonly port: number
  readonly key: string
  /** Paths of cached answers of about 1 KB and 30 KB. */
  readonly small: string
  readonly large: string
}

interface Ask {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body: string | null
}

const service = await startChild<Facts>('./hit-tributary.ts')
const agent = new Agent({ keepAlive: true, maxSockets: connections })

for (const path of [service.facts.small, service.facts.large]) {
  const rest: Ask = { method: 'GET', path, body: null }
  const tool: Ask = { method: 'POST', path: '/mcp', body: JSON.stringify(toCall(path)) }
  const size = await send(rest)
  await send(tool)
  const ratios: number[] = []
  const cpu: Record<'rest' | 'tool', number[]> = { rest: [], tool: [] }
  // The first round warms up and does not count.
  for (let round = 0; round <= rounds; round += 1) {
    const one = await measure(service, rest)
    const other = await measure(service, tool)
    if (round === 0) continue
    cpu.rest.push(one)
    cpu.tool.push(other)
    ratios.push(other / one)
  }
  console.log(
    `cached call of a tool, ${size} bytes of REST body: ${median(cpu.tool).toFixed(0)} µs CPU against ` +
      `${median(cpu.rest).toFixed(0)} µs of the cached GET = ${median(ratios).toFixed(1)} times`,
  )
}
agent.destroy()
await service.stop()

/** The call that asks what the path asks. */
function toCall(path: string) {
  const query = new URLSearchParams(path.slice(path.indexOf('?')))
  const { limit, ...others } = Object.fromEntries(query)
  return {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'list_transactions', arguments: { ...others, limit: Number(limit) } },
  }
}

/** Microseconds of the service's CPU per request. */
async function measure(child: Child<Facts>, ask: Ask): Promise<number> {
  const before = await child.usage()
  let left = requestsPerTurn
  const drive = async () => {
    while (left > 0) {
      left -= 1
      await send(ask)
    }
  }
  await Promise.all(Array.from({ length: connections }, drive))
  const after = await child.usage()
  return (after.cpuMicros - before.cpuMicros) / requestsPerTurn
}

/** Resolves with the bytes of the answer's body; rejects when it is not 200. */
function send({ method, path, body }: Ask): Promise<number> {
  const { port, key } = service.facts
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${key}`,
      ...(body === null
        ? {}
        : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
    }
    const asked = request({ port, host: '127.0.0.1', method, path, headers, agent }, (answer) => {
      let bytes = 0
      answer.on('data', (chunk: Uint8Array) => {
        bytes += chunk.length
      })
      answer.on('end', () => {
        if (answer.statusCode === 200) resolve(bytes)
        else reject(new Error(`${method} ${path}: ${answer.statusCode}`))
      })
    })
    asked.on('error', reject)
    asked.end(body ?? undefined)
  })
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? Number.NaN
}
