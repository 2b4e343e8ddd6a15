/**
 * Monitoring without a token: whether the process is up, whether it should get traffic, and its metrics. It exposes no
 * personal data.
 */
import type { FastifyInstance } from 'fastify'
import { apiError } from '#contract/errors.ts'
import type { AdminDoorDeps } from './deps.ts'

const checkTimeoutMs = 2000

export function addHealthRoutes(app: FastifyInstance, { readiness, metrics }: AdminDoorDeps): void {
  app.get('/healthz', { exposeHeadRoute: true }, async () => ({ status: 'ok' }))

  app.get('/readyz', { exposeHeadRoute: true }, async () => {
    if (readiness.isDraining()) throw notReady(['draining: the process is stopping'])
    const names = Object.keys(readiness.checks)
    const outcomes = await Promise.all(names.map((name) => runCheck(readiness, name)))
    const problems = outcomes.flatMap(({ problem }) => problem ?? [])
    if (problems.length > 0) throw notReady(problems)
    return {
      status: 'ok',
      checks: Object.fromEntries(outcomes.map(({ name, word }) => [name, word])),
    }
  })

  app.get('/metrics', async (_request, reply) => {
    reply.header('content-type', metrics.contentType)
    return metrics.metrics()
  })
}

function notReady(details: readonly string[]) {
  return apiError('service_unavailable', { message: 'Not ready', details, retryAfterSeconds: 5 })
}

interface Outcome {
  readonly name: string
  readonly word: 'ok' | 'away'
  /** Why the process is not ready; null where it is. */
  readonly problem: string | null
}

/** A `problem` when the check fails or times out; its cause is not exposed. */
async function runCheck(readiness: AdminDoorDeps['readiness'], name: string): Promise<Outcome> {
  const failed = (problem: string): Outcome => ({ name, word: 'away', problem })
  const timeout = Promise.withResolvers<Outcome>()
  const timer = setTimeout(
    () => timeout.resolve(failed(`${name}: no answer within ${checkTimeoutMs} ms`)),
    checkTimeoutMs,
  )
  const check = async (): Promise<Outcome> => {
    await readiness.checks[name]?.()
    return { name, word: readiness.isUnavailable(name) ? 'away' : 'ok', problem: null }
  }
  try {
    return await Promise.race([check(), timeout.promise])
  } catch {
    return failed(`${name}: does not answer`)
  } finally {
    clearTimeout(timer)
  }
}
