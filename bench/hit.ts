/**
 * Cached GETs of 1 KB and 30 KB, all work included (key, limits, cache, headers), against bare node:http writing the
 * same bytes on the same core. Candidates in turn, medians of the rounds, CPU per request as the steadiest figure.
 */
import { request } from 'undici'
import { type Child, startChild } from './child.ts'
import { load, percentile } from './load.ts'

const rounds = Number(process.env.ROUNDS ?? 5)
const durationMs = 3000
const connections = 32

interface Sample {
  readonly rate: number
  readonly cpu: number
  readonly p50: number
  readonly p99: number
}

const tributary = await startChild<{ port: number; key: string; small: string; large: string }>(
  './hit-tributary.ts',
)
const headers = { authorization: `Bearer ${tributary.facts.key}` }

for (const path of [tributary.facts.small, tributary.facts.large]) {
  const answer = await request(`http://127.0.0.1:${tributary.facts.port}${path}`, { headers })
  const size = (await answer.body.bytes()).length
  const bare = await startChild<{ port: number }>('./hit-bare.ts', [String(size)])
  const samples: Record<'bare' | 'tributary', Sample[]> = { bare: [], tributary: [] }
  for (let round = 0; round <= rounds; round += 1) {
    const one = await measure(bare, bare.facts.port, `/${size}`, {})
    const other = await measure(tributary, tributary.facts.port, path, headers)
    if (round === 0) continue
    samples.bare.push(one)
    samples.tributary.push(other)
  }
  await bare.stop()
  const of = (name: 'bare' | 'tributary', field: keyof Sample) =>
    median(samples[name].map((sample) => sample[field]))
  console.log(
    `cached GET, ${size} bytes: ${(of('tributary', 'rate') / of('bare', 'rate')).toFixed(2)} of bare by rate, ` +
      `${(of('bare', 'cpu') / of('tributary', 'cpu')).toFixed(2)} by CPU; ` +
      `CPU ${of('bare', 'cpu').toFixed(1)} → ${of('tributary', 'cpu').toFixed(1)} µs; ` +
      `p50 ${of('tributary', 'p50').toFixed(2)} ms (${of('bare', 'p50').toFixed(2)}), p99 ${of('tributary', 'p99').toFixed(1)} (${of('bare', 'p99').toFixed(1)})`,
  )
}
await tributary.stop()

async function measure(
  child: Child<unknown>,
  port: number,
  path: string,
  own: Record<string, string>,
): Promise<Sample> {
  const before = await child.usage()
  const result = await load({ port, path, headers: own, connections, durationMs })
  const after = await child.usage()
  if (result.failures > 0) throw new Error(`${result.failures} answers were not 200`)
  return {
    rate: (result.requests / result.elapsedMs) * 1000,
    cpu: (after.cpuMicros - before.cpuMicros) / result.requests,
    p50: percentile(result.latencies, 0.5),
    p99: percentile(result.latencies, 0.99),
  }
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? Number.NaN
}
