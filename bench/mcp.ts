/**
 * A cached call of a tool against the cached REST request that it stands for, on the same service and core: what the
 * protocol, the second copy of the JSON and the schemas of the library cost. CPU per request is the figure.
 */
import { Agent, request } from 'node:http'
import type { Child } from './child.ts'
import type { Figure } from './figures.ts'
import { startTributary, type TributaryFacts } from './hit.ts'
import { type Sample, takeTurns } from './turns.ts'

const rounds = 7
const requestsPerTurn = 800
const connections = 8

interface Ask {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body: string | null
}

/** Both sizes; there is no goal, for lack of a comparable measurement. */
export async function measureTools(): Promise<Figure[]> {
  const service = await startTributary()
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  const figures: Figure[] = []
  for (const path of [service.facts.small, service.facts.large]) {
    const rest: Ask = { method: 'GET', path, body: null }
    const tool: Ask = { method: 'POST', path: '/mcp', body: JSON.stringify(toCall(path)) }
    const size = await send(service, agent, rest)
    const turns = await takeTurns(
      {
        rest: () => measure(service, agent, rest),
        tool: () => measure(service, agent, tool),
      },
      rounds,
    )
    figures.push({
      bench: 'mcp',
      what: `CPU of a cached call of a tool, ${size} bytes on REST, ${connections} conn.`,
      figure: `${turns.median('tool', 'cpuMicros').toFixed(0)} µs`,
      anchor: `${turns.median('rest', 'cpuMicros').toFixed(0)} µs, the cached GET`,
      ratio: `${turns.ratio('tool', 'rest', 'cpuMicros').toFixed(1)} ×`,
      goal: '',
      met: null,
    })
  }
  agent.destroy()
  await service.stop()
  return figures
}

/** The tool call equivalent to the path. */
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
async function measure(service: Child<TributaryFacts>, agent: Agent, ask: Ask): Promise<Sample> {
  const before = await service.usage()
  let left = requestsPerTurn
  const drive = async () => {
    while (left > 0) {
      left -= 1
      await send(service, agent, ask)
    }
  }
  await Promise.all(Array.from({ length: connections }, drive))
  const after = await service.usage()
  return { cpuMicros: (after.cpuMicros - before.cpuMicros) / requestsPerTurn }
}

/** Resolves with the bytes of the answer's body; rejects when it is not 200. */
function send(
  service: Child<TributaryFacts>,
  agent: Agent,
  { method, path, body }: Ask,
): Promise<number> {
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
