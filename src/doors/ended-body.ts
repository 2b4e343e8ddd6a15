/**
 * The stream of a request without a body has ended before any handler sees it (listener.ts), and emits nothing. Fastify's
 * parsers wait for its end when a `Content-Type` is given: they get an empty stream instead.
 */
import { Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'

/** To be called before any route is registered. */
export function parseEndedBodies(fastify: FastifyInstance): void {
  fastify.addHook('preParsing', (request, _reply, payload, done) => {
    const hasType = request.headers['content-type'] !== undefined
    done(null, hasType && request.raw.readableEnded ? Readable.from([]) : payload)
  })
}
