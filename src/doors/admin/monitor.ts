/**
 * What monitors ask, without a token: whether the process is up, whether it should get traffic, and its metrics. It
 * tells nothing of people.
 */
import type { FastifyInstance } from 'fastify'
import { apiError } from '#contract/errors.ts'
import type { AdminDoorDeps } from './deps.ts'

const checkTimeoutMs = 2000

/** Adds `/healthz`, `/readyz` and `/metrics`. */
export function addMonitorRoutes(
  app: FastifyInstance,
  { readiness, metrics }: AdminDoorDeps,
): void {
  app.get('/healthz', { exposeHeadRoute: true }, async () => ({ status: 'ok' }))

  app.get('/readyz', { exposeHeadRoute: true }, async () => {
    if (readiness.isDraining()) throw notReady(['draining: the process was told to stop'])
    const names = Object.keys(readiness.checks)
    const outcomes = await Promise.all(names.map((name) => runCheck(readiness, name)))
    const problems = outcomes.filter((problem) => problem !== null)
    if (problems.length > 0) throw notReady(problems)
    return { status: 'ok', checks: Object.fromEntries(names.map((name) => [name, 'ok'])) }
  })

  app.get('/metrics', async (_request, reply) => {
    reply.header('content-type', metrics.contentType)
    return metrics.metrics()
  })
}

function notReady(details: readonly string[]) {
  return apiError('service_unavailable', { message: 'Not ready', details, retryAfterSeconds: 5 })
}

/** One line when the check does not pass in time; its cause stays inside. */
async function runCheck(
  readiness: AdminDoorDeps['readiness'],
  name: string,
): Promise<string | null> {
  const timeout = Promise.withResolvers<string>()
  const timer = setTimeout(
    () => timeout.resolve(`${name}: no answer within ${checkTimeoutMs} ms`),
    checkTimeoutMs,
  )
  const check = async () => {
    await readiness.checks[name]?.()
    return null
  }
  try {
    return await Promise.race([check(), timeout.promise])
  } catch {
    return `${name}: does not answer`
  } finally {
    clearTimeout(timer)
  }
}
