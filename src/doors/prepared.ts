/** Answers whose bytes never change: compressed and digested in advance, so that sending one is a write. */
import { hash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { acceptsGzip } from './preference.ts'

const compress = promisify(gzip)

export interface Prepared {
  readonly type: string
  readonly plain: Buffer
  readonly compressed: Buffer
  readonly digest: string
  readonly headers: Readonly<Record<string, string>>
}

/** Compresses the bytes; `headers` are sent with every answer, 304 included. */
export async function prepare(
  bytes: Uint8Array | string,
  type: string,
  headers: Readonly<Record<string, string>>,
): Promise<Prepared> {
  const plain = Buffer.from(bytes)
  const compressed = await compress(plain, { level: 9 })
  return { type, plain, compressed, digest: toContentDigest(plain), headers }
}

/** Hexadecimal, long enough to name the content in a path or an entity tag. */
export function toContentDigest(bytes: Uint8Array): string {
  return hash('sha256', bytes).slice(0, 20)
}

/** Sends the encoding that the client accepts, or 304 when the client has it already (RFC 9110 §13.1.2). */
export function sendPrepared(
  request: FastifyRequest,
  reply: FastifyReply,
  prepared: Prepared,
): FastifyReply {
  const compressed = acceptsGzip(request.headers['accept-encoding'])
  // The two encodings are different bytes, so their strong tags must differ.
  const tag = `"${prepared.digest}${compressed ? '-gzip' : ''}"`
  reply.headers({
    'x-content-type-options': 'nosniff',
    ...prepared.headers,
    etag: tag,
    vary: 'Accept-Encoding',
  })
  if (isKnown(request.headers['if-none-match'], tag)) return reply.code(304).send()
  if (compressed) reply.header('content-encoding', 'gzip')
  return reply.type(prepared.type).send(compressed ? prepared.compressed : prepared.plain)
}

function isKnown(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false
  return header.split(',').some((entry) => {
    const text = entry.trim()
    return text === '*' || text.replace(/^W\//, '') === tag
  })
}
