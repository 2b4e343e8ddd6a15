/**
 * The job that every peer does in its own way: a bearer key by its digest, a finished body out of an LRU
 * cache. The argument contains the paths, the lengths of their bodies and the key.
 */
import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'

const { answers, key } = JSON.parse(process.argv[2] ?? '{}')

const keys = new Map([[hash('sha256', key), 'user']])

/** The user of an Authorization header; undefined for an unknown key. */
export function userOf(authorization) {
  return keys.get(hash('sha256', (authorization ?? '').slice('Bearer '.length)))
}

const bodies = new LRUCache({ max: 1000 })
for (const { path, length } of answers) bodies.set(path, Buffer.alloc(length, 120))

/** The finished body of a URL. */
export const bodyOf = (url) => bodies.get(url)

/** What the query of transactions looks like. */
export const Query = z.object({
  connectionId: z.string(),
  accountId: z.string().optional(),
  from: z.string().optional(),
  limit: z.coerce.number().int().min(1).default(200),
  offset: z.coerce.number().int().min(0).default(0),
})

/** Counted, never refused. */
export const limit = 1_000_000_000
export const windowMs = 60_000

/** Reports to the measuring process where this one listens, answers its queries, and ends with it. */
export function report(port) {
  process.on('message', () => {
    const { user, system } = process.cpuUsage()
    process.send({
      cpuMicros: user + system,
      rssBytes: 0,
      peakRssBytes: 0,
      heapBytes: 0,
      stallMs: 0,
    })
  })
  process.on('disconnect', () => process.exit(0))
  process.send({ port })
}
