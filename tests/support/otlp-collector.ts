/**
 * A collector of OpenTelemetry that takes OTLP over HTTP in protobuf and shows what it got. Field numbers are
 * those of opentelemetry-proto 1.x (`trace.proto`, `metrics.proto`, `common.proto`, `resource.proto`).
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'

export interface SeenSpan {
  readonly traceId: string
  readonly spanId: string
  /** Empty: it has none. */
  readonly parentId: string
  readonly name: string
  readonly kind: number
  readonly durationNanos: bigint
  readonly attributes: Readonly<Record<string, string>>
  readonly resource: Readonly<Record<string, string>>
}

export interface Collector extends AsyncDisposable {
  readonly url: string
  readonly spans: SeenSpan[]
  /** The names of metrics with the number of their points in the newest export. */
  readonly metrics: Map<string, number>
  /** The headers of each request. */
  readonly headers: NodeJS.Dict<string | string[]>[]
  /** Every byte that came, for what must not be there. */
  readonly bytes: Buffer[]
}

/** `status` and `body`: what it answers to everything. */
export async function startCollector(status = 200, body?: string): Promise<Collector> {
  const spans: SeenSpan[] = []
  const metrics = new Map<string, number>()
  const headers: Collector['headers'] = []
  const bytes: Buffer[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const sent = Buffer.concat(chunks)
      const data = request.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent
      headers.push(request.headers)
      bytes.push(data)
      if (request.url === '/v1/traces') spans.push(...readSpans(data))
      else for (const [name, points] of readMetrics(data)) metrics.set(name, points)
      response.writeHead(status, { 'content-type': 'application/x-protobuf' }).end(body)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ...{ spans, metrics, headers, bytes },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

interface Field {
  readonly number: number
  readonly value: bigint | Buffer
}

function readFields(bytes: Buffer): readonly Field[] {
  const fields: Field[] = []
  let at = 0
  const varint = () => {
    let value = 0n
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes.readUInt8(at)
      at += 1
      value |= BigInt(byte & 127) << shift
      if (byte < 128) return value
    }
  }
  const take = (length: number) => {
    at += length
    return bytes.subarray(at - length, at)
  }
  while (at < bytes.length) {
    const tag = varint()
    const number = Number(tag >> 3n)
    const kind = Number(tag & 7n)
    if (kind === 0) fields.push({ number, value: varint() })
    else if (kind === 1) fields.push({ number, value: take(8).readBigUInt64LE() })
    else if (kind === 5) fields.push({ number, value: BigInt(take(4).readUInt32LE()) })
    else if (kind === 2) fields.push({ number, value: take(Number(varint())) })
    else throw new Error(`wire type ${kind} is unknown`)
  }
  return fields
}

const parts = (bytes: Buffer, number: number): readonly Buffer[] =>
  readFields(bytes).flatMap((field) =>
    field.number === number && Buffer.isBuffer(field.value) ? [field.value] : [],
  )
const part = (bytes: Buffer, number: number): Buffer => parts(bytes, number)[0] ?? Buffer.alloc(0)
const whole = (bytes: Buffer, number: number): bigint => {
  const found = readFields(bytes).find((field) => field.number === number)?.value
  return typeof found === 'bigint' ? found : 0n
}

function readAttributes(owner: Buffer, number: number): Readonly<Record<string, string>> {
  return Object.fromEntries(
    parts(owner, number).map((pair) => {
      const value = readFields(part(pair, 2))[0]?.value ?? ''
      return [part(pair, 1).toString(), value.toString()]
    }),
  )
}

function readSpans(body: Buffer): readonly SeenSpan[] {
  return parts(body, 1).flatMap((ofResource) => {
    const resource = readAttributes(part(ofResource, 1), 1)
    return parts(ofResource, 2).flatMap((scope) =>
      parts(scope, 2).map((span) => ({
        traceId: part(span, 1).toString('hex'),
        spanId: part(span, 2).toString('hex'),
        parentId: part(span, 4).toString('hex'),
        name: part(span, 5).toString(),
        kind: Number(whole(span, 6)),
        durationNanos: whole(span, 8) - whole(span, 7),
        attributes: readAttributes(span, 9),
        resource,
      })),
    )
  })
}

/** Gauge, sum and histogram are fields 5, 7 and 9 of a metric; each has its points in field 1. */
function readMetrics(body: Buffer): readonly (readonly [string, number])[] {
  return parts(body, 1).flatMap((ofResource) =>
    parts(ofResource, 2).flatMap((scope) =>
      parts(scope, 2).map((metric) => {
        const points = [5, 7, 9].reduce((sum, kind) => sum + parts(part(metric, kind), 1).length, 0)
        return [part(metric, 1).toString(), points] as const
      }),
    ),
  )
}
