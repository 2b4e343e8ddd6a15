/** Express with its rate limiter, and zod by hand, as is usual there. */
import express from 'express'
import { rateLimit } from 'express-rate-limit'
import { bodyOf, limit, Query, report, userOf, windowMs } from './shared.js'

const app = express()
app.use((request, response, next) => {
  if (userOf(request.headers.authorization) === undefined) return response.status(401).json({})
  next()
})
app.use(
  rateLimit({
    windowMs,
    limit,
    standardHeaders: true,
    legacyHeaders: false,
    keyGenerator: (request) => request.headers.authorization ?? '',
  }),
)
app.get('/v1/transactions', (request, response) => {
  const query = Query.safeParse(request.query)
  if (!query.success) return response.status(400).json({})
  response.set('X-Cache', 'HIT').type('application/json').send(bodyOf(request.originalUrl))
})
const server = app.listen(0, '127.0.0.1', () => report(server.address().port))
