/**
 * Answers every failure of this door with the one error envelope. Errors of the framework get a message that
 * says what to do; unexpected errors are logged with their cause and answered without details.
 */
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { PasswordsBusyError } from '#auth/sign-in/hashing-queue.ts'
import { ApiError, apiError, toEnvelope } from '#contract/errors.ts'
import { ProcessStopping } from '#kernel/process-stopping.ts'
import { toOperatorsError } from '#providers/operators-error.ts'
import { StoreUnavailableError } from '#store/failure.ts'
import { hasDisconnected } from '../client.ts'

export function makeErrorAnswer(log: Logger) {
  return (thrown: unknown, request: FastifyRequest, reply: FastifyReply) => {
    const error = hasDisconnected(request.raw)
      ? apiError('client_disconnected', { cause: thrown })
      : toApiError(thrown)
    if (error.status >= 500) {
      const level = error.status === 500 ? 'error' : 'warn'
      log[level]({ requestId: request.id, status: error.status, err: error.cause }, error.message)
    }
    if (error.retryAfterSeconds !== null) reply.header('retry-after', error.retryAfterSeconds)
    if (error.status === 401) reply.header('www-authenticate', 'Bearer realm="tributary-admin"')
    return reply.code(error.status).send(toEnvelope(error))
  }
}

export function answerUnknownPath(_request: FastifyRequest, reply: FastifyReply) {
  const error = apiError('not_found', {
    message: 'Unknown path or method; docs/admin-api.md lists them',
  })
  return reply.code(error.status).send(toEnvelope(error))
}

function toApiError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return toOperatorsError(thrown)
  if (thrown instanceof StoreUnavailableError || thrown instanceof ProcessStopping) {
    return apiError('service_unavailable', { retryAfterSeconds: 5, cause: thrown })
  }
  if (thrown instanceof PasswordsBusyError) {
    return apiError('service_unavailable', { retryAfterSeconds: 1, cause: thrown })
  }
  const code = frameworkCode(thrown)
  const detail = code === null ? undefined : (bodyProblems.get(code) ?? otherProblem(thrown))
  if (detail === undefined) return apiError('internal', { cause: thrown })
  return apiError('invalid_params', { details: [detail], cause: thrown })
}

const notJson = 'body: must be valid JSON without the keys "__proto__" and "constructor"'

const bodyProblems: ReadonlyMap<string, string> = new Map([
  ['FST_ERR_CTP_INVALID_JSON_BODY', notJson],
  ['FST_ERR_CTP_INVALID_MEDIA_TYPE', 'body: must be JSON, with "Content-Type: application/json"'],
  ['FST_ERR_BAD_URL', 'path: is not valid percent-encoding'],
])

/** Errors that the framework attributes to the client stay client errors, even without a message of ours. */
function otherProblem(thrown: unknown): string | undefined {
  const { code, statusCode = 500 } = thrown as FastifyError
  if (!code.startsWith('FST_') || statusCode >= 500) return undefined
  return 'request: cannot be read'
}

function frameworkCode(thrown: unknown): string | null {
  if (!(thrown instanceof Error) || !('code' in thrown)) return null
  const { code } = thrown as FastifyError
  return typeof code === 'string' ? code : null
}
