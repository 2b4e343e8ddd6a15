/**
 * Monitoring without a token: whether the process is up, whether it should get traffic, and its metrics. It
 * exposes no personal data, and needs no router: probes alone never load the admin door.
 */
import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type ApiError, apiError, toEnvelope } from '#contract/errors.ts'
import { withoutQuery } from '../client.ts'
import type { RequestHandler } from '../listener/listener.ts'
import { toApiError } from '../refusal.ts'
import { refuseForeignHosts } from './admin-auth.ts'
import type { AdminDoorOptions } from './options.ts'

const checkTimeoutMs = 2000
const json = 'application/json; charset=utf-8'

export type HealthLaneOptions = Pick<AdminDoorOptions, 'readiness' | 'metrics' | 'listener' | 'log'>

export interface HealthLane {
  /** `GET` and `HEAD` of the paths for monitors; `HEAD` not of the metrics. */
  owns(request: IncomingMessage): boolean
  /** Answers a request that it owns. */
  readonly serve: RequestHandler
}

interface Content {
  readonly type: string
  readonly body: string
}

/** The paths for monitors. */
export const healthPaths = ['/healthz', '/readyz', '/metrics'] as const

export function makeHealthLane(options: HealthLaneOptions): HealthLane {
  const { listener, log, metrics } = options
  // Scrapes that come together share one text: each is tens of kilobytes.
  let coming: Promise<string> | null = null
  const readMetrics = () =>
    (coming ??= metrics.metrics().finally(() => {
      coming = null
    }))
  const makeContent = async (path: string): Promise<Content> => {
    if (path === '/metrics') return { type: metrics.contentType, body: await readMetrics() }
    const { readiness } = options
    const answer = path === '/healthz' ? { status: 'ok' } : await checkReadiness(readiness)
    return { type: json, body: JSON.stringify(answer) }
  }
  return {
    owns({ method, url }) {
      const path = withoutQuery(url)
      if (method === 'HEAD') return path === '/healthz' || path === '/readyz'
      return method === 'GET' && healthPaths.some((one) => one === path)
    },
    async serve(request, response) {
      const id = randomUUID()
      try {
        refuseForeignHosts(listener, request.headers.host)
        write(response, { id, status: 200, ...(await makeContent(withoutQuery(request.url))) })
      } catch (thrown) {
        const error = toApiError(thrown)
        if (error.status >= 500) logFailure(log, id, error)
        write(response, { id, ...toContent(error) })
      }
    },
  }
}

async function checkReadiness(readiness: HealthLaneOptions['readiness']) {
  if (readiness.isDraining()) throw notReady(['draining: the process is stopping'])
  const names = Object.keys(readiness.checks)
  const outcomes = await Promise.all(names.map((name) => runCheck(readiness, name)))
  const problems = outcomes.flatMap(({ problem }) => problem ?? [])
  if (problems.length > 0) throw notReady(problems)
  return {
    status: 'ok',
    checks: Object.fromEntries(outcomes.map(({ name, word }) => [name, word])),
  }
}

function logFailure(log: HealthLaneOptions['log'], requestId: string, error: ApiError): void {
  const level = error.status === 500 ? 'error' : 'warn'
  log[level]({ requestId, status: error.status, err: error.cause }, error.message)
}

function toContent(error: ApiError) {
  const { status, retryAfterSeconds } = error
  const body = JSON.stringify(toEnvelope(error))
  return { status, retryAfterSeconds, type: json, body }
}

function write(
  response: ServerResponse,
  answer: Content & {
    readonly id: string
    readonly status: number
    readonly retryAfterSeconds?: number | null
  },
): void {
  const { id, status, type, body, retryAfterSeconds = null } = answer
  response.writeHead(status, {
    'X-Request-Id': id,
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    ...(retryAfterSeconds === null ? {} : { 'Retry-After': `${retryAfterSeconds}` }),
    'Content-Type': type,
    'Content-Length': Buffer.byteLength(body),
  })
  response.end(body)
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
async function runCheck(readiness: AdminDoorOptions['readiness'], name: string): Promise<Outcome> {
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
