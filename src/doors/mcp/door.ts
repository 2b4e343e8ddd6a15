/**
 * `/mcp` as a Fastify plugin: the one path in every method, handed to the lane before Fastify reads a body. Other paths
 * are left to whoever answers `not_found` (reading R4).
 */
import { METHODS } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { type McpLaneOptions, makeMcpLane } from './lane.ts'

export type { McpEvent } from './call-tool.ts'

/** Register it without a prefix. */
export async function mcpDoor(fastify: FastifyInstance, options: McpLaneOptions): Promise<void> {
  const lane = makeMcpLane(options)
  // What the parser knows but the router does not is refused like any other method; CONNECT never gets here.
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
      throw new Error('the lane has answered')
    },
  })
  fastify.addHook('onClose', () => lane.close())
}
