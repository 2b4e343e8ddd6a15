/**
 * `/providers/{provider}/webhook` as a Fastify plugin: one path for each provider whose webhooks can be verified, `POST`
 * alone, passed on before a body is read. For the others, and for other methods, the public server answers `not_found`.
 */
import type { FastifyInstance } from 'fastify'
import type { Provider } from '#contract/resources.ts'
import { makeWebhookLane, type WebhookLaneOptions } from './lane.ts'

export interface WebhookDoorOptions extends WebhookLaneOptions {
  /** Those that are configured, with what verifies their webhooks. */
  readonly providers: readonly Provider[]
}

/** Register it without a prefix. */
export async function providerWebhooksDoor(
  fastify: FastifyInstance,
  options: WebhookDoorOptions,
): Promise<void> {
  const serve = makeWebhookLane(options)
  for (const provider of options.providers) {
    fastify.route({
      method: 'POST',
      url: `/providers/${provider}/webhook`,
      exposeHeadRoute: false,
      // Runs before Fastify reads the body: signatures are computed over its bytes.
      onRequest: async (request, reply) => {
        reply.hijack()
        await serve(provider, request.raw, reply.raw)
      },
      handler: () => {
        throw new Error('the lane has already answered')
      },
    })
  }
}
