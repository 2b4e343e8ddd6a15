/** Hono on Node with its rate limiter and its zod OpenAPI routes. */
import { serve } from '@hono/node-server'
import { createRoute, OpenAPIHono } from '@hono/zod-openapi'
import { rateLimiter } from 'hono-rate-limiter'
import { bodyOf, limit, Query, report, userOf, windowMs } from './shared.js'

const app = new OpenAPIHono()
app.use(async (context, next) => {
  if (userOf(context.req.header('authorization')) === undefined) return context.json({}, 401)
  await next()
})
app.use(
  rateLimiter({
    windowMs,
    limit,
    keyGenerator: (context) => context.req.header('authorization') ?? '',
  }),
)
const route = createRoute({
  method: 'get',
  path: '/v1/transactions',
  request: { query: Query },
  responses: { 200: { description: 'Transactions' } },
})
app.openapi(route, (context) => {
  const { pathname, search } = new URL(context.req.url)
  const body = bodyOf(pathname + search)
  return context.body(body, 200, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': String(body.length),
    'X-Cache': 'HIT',
  })
})
serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, ({ port }) => report(port))
