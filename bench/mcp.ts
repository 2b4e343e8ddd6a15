/**
 * A cached call of a tool, in both eras of the protocol, against the cached REST request that it stands for,
 * on the same service and core; and what reading such a request and writing such an answer costs bare
 * node:http. CPU per request is the figure.
 */
import { request as httpRequest } from 'node:http'
import { startChild } from './child.ts'
import type { Figure } from './figures.ts'
import { fetchAnswer, startTributary, warmUp } from './hit.ts'
import { type LoadOptions, measureLoad } from './load.ts'
import { takeTurns } from './turns.ts'

const rounds = 11
const connections = 32
const durationMs = 1000
const goal = 4

/** Both sizes and both eras. */
export async function measureTools(): Promise<Figure[]> {
  const service = await startTributary()
  const { port, key, small, large } = service.facts
  const headers = { authorization: `Bearer ${key}` }
  const asks = [small, large].map((path) => ({
    path,
    legacy: toAsk(path, headers, 'legacy'),
    modern: toAsk(path, headers, 'modern'),
  }))
  const answers = []
  for (const { legacy } of asks) answers.push(await post(port, legacy))
  const bare = await startChild<{ port: number }>('./mcp-bare.ts', {
    args: [JSON.stringify(answers.map((answer, at) => ({ ...answer, path: `/${at}` })))],
  })
  const figures: Figure[] = []
  for (const [at, { path, legacy, modern }] of asks.entries()) {
    const { length } = await fetchAnswer(port, path, headers)
    const target = { connections, durationMs }
    const rest: LoadOptions = { ...target, port, path, headers }
    const floor: LoadOptions = { ...legacy, ...target, port: bare.facts.port, path: `/${at}` }
    const tools = {
      legacy: { ...target, port, path: '/mcp', ...legacy },
      modern: { ...target, port, path: '/mcp', ...modern },
    }
    for (const one of [rest, floor, tools.legacy, tools.modern]) await warmUp(one)
    const turns = await takeTurns(
      {
        rest: () => measureLoad(service, rest),
        legacy: () => measureLoad(service, tools.legacy),
        modern: () => measureLoad(service, tools.modern),
        floor: () => measureLoad(bare, floor),
      },
      rounds,
    )
    const micros = (name: 'rest' | 'legacy' | 'modern' | 'floor') =>
      `${turns.median(name, 'cpuMicros').toFixed(1)} µs`
    for (const [era, name] of [
      ['2025-11-25', 'legacy'],
      ['2026-07-28', 'modern'],
    ] as const) {
      const ratio = turns.ratio(name, 'rest', 'cpuMicros')
      const [low, high] = turns.spread(name, 'rest', 'cpuMicros')
      figures.push({
        bench: 'mcp',
        what: `CPU of a cached call of a tool, ${era}, ${length} bytes on REST, ${connections} conn.`,
        figure: micros(name),
        anchor: `${micros('rest')}, the cached GET`,
        ratio: `${ratio.toFixed(1)} × (${low.toFixed(1)} to ${high.toFixed(1)})`,
        goal: `≤ ${goal} ×`,
        met: ratio <= goal,
      })
    }
    figures.push({
      bench: 'mcp',
      what: `the same, of which bare node:http, ${length} bytes on REST`,
      figure: micros('floor'),
      anchor: `${micros('rest')}, the cached GET`,
      ratio: `${turns.ratio('floor', 'rest', 'cpuMicros').toFixed(1)} ×`,
      goal: '',
      met: null,
    })
  }
  await Promise.all([service.stop(), bare.stop()])
  return figures
}

interface Ask {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** The tool call equivalent to the path, as the clients of each era send it. */
function toAsk(path: string, headers: Ask['headers'], era: 'legacy' | 'modern'): Ask {
  const query = new URLSearchParams(path.slice(path.indexOf('?')))
  const { limit, ...others } = Object.fromEntries(query)
  const name = 'list_transactions'
  const params = { name, arguments: { ...others, limit: Number(limit) } }
  const common = {
    ...headers,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  }
  const toBody = (given: object) =>
    JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: given })
  if (era === 'legacy')
    return { headers: { ...common, 'mcp-protocol-version': '2025-11-25' }, body: toBody(params) }
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1.0.0' },
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  return {
    headers: {
      ...common,
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': name,
    },
    body: toBody({ ...params, _meta: meta }),
  }
}

/** What node:http adds by itself. */
const added = new Set(['date', 'connection', 'keep-alive'])

/** One answer, so that the anchor can write the same. */
function post(port: number, { headers, body }: Ask) {
  return new Promise<{ headers: string[]; length: number }>((resolve, reject) => {
    const options = { port, path: '/mcp', method: 'POST', headers }
    const asked = httpRequest(options, (response) => {
      let length = 0
      response.on('data', (chunk: Uint8Array) => {
        length += chunk.length
      })
      response.on('end', () => {
        if (response.statusCode !== 200) reject(new Error(`/mcp: ${response.statusCode}`))
        const { rawHeaders } = response
        const own = rawHeaders.filter(
          (_text, at) => !added.has(rawHeaders[at - (at % 2)]?.toLowerCase() ?? ''),
        )
        resolve({ headers: own, length })
      })
    })
    asked.on('error', reject)
    asked.end(body)
  })
}
