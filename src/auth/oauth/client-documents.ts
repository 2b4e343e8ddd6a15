/**
 * Fetches client-id metadata documents for the engine through the guarded client that is passed in, and
 * applies the same rules as to a registration.
 */
import { findMetadataProblem, pickMetadata } from './client-metadata.ts'
import { maxDocumentBytes } from './engine.ts'

/** The fetch function for the engine. The engine answers `invalid_client` when the document is invalid. */
export function makeDocumentFetch(fetchDocument: (url: string) => Promise<Response>) {
  return async (url: string): Promise<Response> => {
    const response = await fetchDocument(url)
    if (response.status !== 200) return new Response(null, { status: 502 })
    const body = await response.arrayBuffer()
    if (body.byteLength > maxDocumentBytes) throw new RangeError('the document is too large')
    const metadata: unknown = JSON.parse(Buffer.from(body).toString('utf8'))
    if (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata))
      throw new TypeError('the document is not a JSON object')
    const picked = pickMetadata(metadata as Record<string, unknown>)
    const problem = findMetadataProblem(picked)
    if (problem !== null) throw new TypeError(problem)
    const cacheControl = response.headers.get('cache-control')
    return Response.json(picked, {
      headers: cacheControl === null ? {} : { 'cache-control': cacheControl },
    })
  }
}
