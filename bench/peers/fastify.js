/** Fastify with its rate limit, zod type provider and OpenAPI plug-in. */
import rateLimit from '@fastify/rate-limit'
import swagger from '@fastify/swagger'
import Fastify from 'fastify'
import {
  jsonSchemaTransform,
  serializerCompiler,
  validatorCompiler,
} from 'fastify-type-provider-zod'
import { bodyOf, limit, Query, report, userOf, windowMs } from './shared.js'

const app = Fastify()
app.setValidatorCompiler(validatorCompiler)
app.setSerializerCompiler(serializerCompiler)
await app.register(swagger, {
  openapi: { info: { title: 'peer', version: '1' } },
  transform: jsonSchemaTransform,
})
await app.register(rateLimit, {
  max: limit,
  timeWindow: windowMs,
  keyGenerator: (request) => request.headers.authorization,
})
app.addHook('onRequest', async (request, reply) => {
  if (userOf(request.headers.authorization) === undefined) return reply.code(401).send({})
})
app.get('/v1/transactions', { schema: { querystring: Query } }, async (request, reply) => {
  reply.header('X-Cache', 'HIT').type('application/json; charset=utf-8')
  return reply.send(bodyOf(request.url))
})
await app.listen({ host: '127.0.0.1', port: 0 })
report(app.server.address().port)
