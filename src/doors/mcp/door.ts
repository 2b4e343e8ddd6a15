/**
 * `/mcp` as a Fastify plugin: this one path in every method, passed to the lane before Fastify reads a body. The public
 * server passes the usual spelling to the lane itself; what arrives here has a query. For other paths it answers
 * `not_found` (reading R4).
 */
import type { FastifyInstance } from 'fastify'
import { METHODS } from '#kernel/node-http.ts'
import type { McpLane } from './lane.ts'

/** Register it without a prefix. */
export async function mcpDoor(
  fastify: FastifyInstance,
  { lane }: { readonly lane: McpLane },
): Promise<void> {
  // A method that Node parses but Fastify does not route is refused like any other; CONNECT never arrives here.
  for (const method of METHODS) {
    if (method === 'CONNECT' || fastify.supportedMethods.includes(method)) continue
    fastify.addHttpMethod(method)
  }
  fastify.route({
    method: fastify.supportedMethods,
    url: '/mcp',
    exposeHeadRoute: false,
    onRequest: async (request, reply) => {
      reply.hijack()
      await lane.serve(request.raw, reply.raw)
    },
    handler: () => {
      throw new Error('the lane has already answered')
    },
  })
  fastify.addHook('onClose', () => lane.close())
}
