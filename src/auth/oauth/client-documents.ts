/**
 * Fetches client-id metadata documents for the engine through the guarded client that is passed in, and
 * applies the same rules as to a registration. Their addresses are anybody's, so few are fetched at once; and
 * what came of a fetch counts for some seconds, because the engine looks a refused client up again.
 */
import { LRUCache } from 'lru-cache'
import type { Clock } from '#kernel/time.ts'
import { findMetadataProblem, pickMetadata } from './client-metadata.ts'
import { maxDocumentBytes } from './engine.ts'
import { noteReachedBound } from './requester.ts'

const mostAtOnce = 32
const outcomeMs = 10_000
const mostOutcomes = 100

type Outcome = { readonly error: unknown } | { readonly metadata: object; readonly headers: object }

export interface ClientDocuments {
  /** True where what came of the document is known: asking for it reaches nobody. */
  isKnown(url: string): boolean
  /** For the engine, which answers `invalid_client` when it throws. */
  fetch(url: string): Promise<Response>
}

export function makeClientDocuments(
  fetchDocument: (url: string) => Promise<Response>,
  clock: Clock,
): ClientDocuments {
  const outcomes = new LRUCache<string, Outcome>({
    max: mostOutcomes,
    ttl: outcomeMs,
    ttlResolution: 0,
    perf: clock,
  })
  /** By address: whoever asks for a document that is being fetched waits for the same fetch. */
  const running = new Map<string, Promise<Outcome>>()

  async function load(url: string): Promise<Outcome> {
    let outcome: Outcome
    try {
      outcome = await readDocument(await fetchDocument(url))
    } catch (error) {
      outcome = { error }
    }
    outcomes.set(url, outcome)
    return outcome
  }

  function begin(url: string): Promise<Outcome> {
    if (running.size >= mostAtOnce) {
      noteReachedBound('documents')
      throw new RangeError('too many documents are being fetched')
    }
    const loading = load(url).finally(() => running.delete(url))
    running.set(url, loading)
    return loading
  }

  return {
    isKnown: (url) => outcomes.has(url) || running.has(url),
    async fetch(url) {
      const outcome = outcomes.get(url) ?? (await (running.get(url) ?? begin(url)))
      if ('error' in outcome) throw outcome.error
      return Response.json(outcome.metadata, { headers: { ...outcome.headers } })
    },
  }
}

async function readDocument(response: Response): Promise<Outcome> {
  if (response.status !== 200) throw new RangeError(`the document has status ${response.status}`)
  const body = await response.arrayBuffer()
  if (body.byteLength > maxDocumentBytes) throw new RangeError('the document is too large')
  const metadata: unknown = JSON.parse(Buffer.from(body).toString('utf8'))
  if (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata))
    throw new TypeError('the document is not a JSON object')
  const picked = pickMetadata(metadata as Record<string, unknown>)
  const problem = findMetadataProblem(picked)
  if (problem !== null) throw new TypeError(problem)
  const cacheControl = response.headers.get('cache-control')
  return {
    metadata: picked,
    headers: cacheControl === null ? {} : { 'cache-control': cacheControl },
  }
}
