/** Leads a browser to the page of a provider: the one way in which forms begin a link or renew one. */
import type { FastifyReply } from 'fastify'
import { ApiError } from '#contract/errors.ts'
import type { Provider } from '#contract/resources.ts'
import type { ConnectionId } from '#kernel/ids.ts'
import { MissedTurnError } from '#kernel/queue.ts'
import { UpstreamError } from '#providers/failure.ts'
import type { PagesContext } from '../context.ts'
import { type FormTurn, toBy } from '../signed-in.ts'
import { rememberBegun } from './begun-here.ts'
import {
  type EndPage,
  renderBusy,
  renderFailed,
  renderOwnRefused,
  renderRefused,
} from './end-page.ts'
import { listPath, toReturnOrigin } from './places.ts'

export interface Leading {
  readonly provider: Provider
  readonly institutionId: string | null
  /** The connection whose consent is renewed; null: a new one. */
  readonly connectionId: ConnectionId | null
  /** Where the person goes when it cannot begin now. */
  readonly back: string
}

/**
 * Answers with a redirect to the provider's page, or with a page that says why there is none. The page of the
 * form needs `PagesContext.linkingTargets` as its `formAction`.
 * @throws ApiError `user_not_found`, `connection_not_found`; `invalid_params`, which belongs to the form.
 */
export async function leadToProvider(
  context: PagesContext,
  { visit, request, reply }: FormTurn,
  { back, ...asked }: Leading,
): Promise<FastifyReply> {
  const baseUrl = toReturnOrigin(context, request)
  try {
    const { startLinking } = context.connections
    const start = { userId: visit.user.id, baseUrl, ...asked }
    const { address } = await startLinking(toBy(visit), start)
    rememberBegun(context, { request, reply }, visit.session)
    return reply.redirect(address, 303)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    if (error.status === 404 || error.entry === 'invalid_params') throw error
    if (error.status >= 500) context.onFailure(error)
    if (error.retryAfterSeconds !== null) {
      reply.header('retry-after', String(error.retryAfterSeconds))
    }
    const way = context.connections.linkingWays.find(({ provider }) => provider === asked.provider)
    const name = way?.name ?? asked.provider
    const returnUrl = `${baseUrl}/providers/${asked.provider}/callback`
    const refused = { ...{ error, name, back, returnUrl }, provider: asked.provider }
    return context.show(reply.code(error.status), visit, toPage(refused))
  }
}

interface NotOpened {
  readonly error: ApiError
  readonly provider: Provider
  /** The provider's, for people. */
  readonly name: string
  readonly back: string
  readonly returnUrl: string
}

/** Waiting does not help when a provider refuses an application. */
function toPage({ error, provider, name, back, returnUrl }: NotOpened): EndPage {
  if (error.cause instanceof MissedTurnError) return renderBusy({ error, name, back })
  const failure = error.cause instanceof UpstreamError ? error.cause.failure : null
  if (failure?.kind !== 'misconfigured') return renderRefused({ error, name, back })
  if (failure.isPersonal === true) return renderOwnRefused({ name, returnUrl }, back)
  const places = { again: back, list: listPath }
  return renderFailed({ reason: 'misconfigured', provider, name }, places)
}
