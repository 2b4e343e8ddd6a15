/**
 * Where browsers return from the page of a provider, and where they wait for what it takes longer to tell.
 * The state in the address is used once, by its own person and browser, so a GET may end the link; a visitor
 * who is signed out is led to the sign-in and back with the state unused. HEAD is not answered.
 */
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Arrival } from '#connections/linking/finish-linking.ts'
import type { Provider } from '#contract/resources.ts'
import type { ConnectionId } from '#kernel/ids.ts'
import { unreachable } from '#kernel/unreachable.ts'
import { autoRefresh } from '../auto-refresh.ts'
import type { PagesContext } from '../context.ts'
import { toSignIn } from '../forms.ts'
import { html } from '../html.ts'
import { hidden } from '../layout.ts'
import { addForm, addPage, redirectIfGone, type SignedInRequest, toBy } from '../signed-in.ts'
import { isSignedIn } from '../visit.ts'
import { readBegun } from './begun-here.ts'
import { renderFailed, renderUnfinished, renderUnusable } from './end-page.ts'
import { listPath, newPath, toLinked, toReturnOrigin, waitingPath } from './places.ts'

export function addReturnRoutes(scope: FastifyInstance, context: PagesContext): void {
  for (const way of context.connections.linkingWays.filter(({ hasPage }) => hasPage)) {
    const { provider } = way
    const path = `/providers/${provider}/callback`
    addReturn(scope, context, { provider, path })
    addReturn(scope, context, { provider, path: `${path}/:state` })
  }
  addWaiting(scope, context)
}

interface Return {
  readonly provider: Provider
  readonly path: string
}

function addReturn(
  scope: FastifyInstance,
  context: PagesContext,
  { provider, path }: Return,
): void {
  scope.get(path, { exposeHeadRoute: false }, async (request, reply) => {
    const visit = await context.visits.begin(request, reply)
    if (!isSignedIn(visit)) return toSignIn(reply, request.url)
    const query = URL.parse(request.url, 'http://localhost')?.searchParams ?? new URLSearchParams()
    const { state = query.get('state') ?? '' } = request.params as { readonly state?: string }
    const turn = { visit, request, reply, part: () => '' }
    const places = { signIn: listPath, list: listPath }
    return finish(context, turn, { provider, state, query }).catch((error: unknown) =>
      redirectIfGone(error, reply, places),
    )
  })
}

interface Arrived {
  readonly provider: Provider
  readonly state: string
  readonly query: URLSearchParams
}

async function finish(
  context: PagesContext,
  turn: SignedInRequest,
  { provider, state, query }: Arrived,
): Promise<FastifyReply> {
  const { visit, request, reply } = turn
  const baseUrl = toReturnOrigin(context, request)
  const begunIn = readBegun(context, request, visit.user.id)
  const arrival = { provider, state, query, baseUrl, begunIn }
  const end = await context.connections.finishLinking(toBy(visit), arrival)
  return end.kind === 'waiting'
    ? reply.redirect(waitingPath(end.attempt), 303)
    : showEnd(context, turn, end)
}

type End = Exclude<Arrival, { readonly kind: 'waiting' }>

/** The same whenever it is read again, at the address of the return and on the page that waited. */
function showEnd(context: PagesContext, { visit, reply }: SignedInRequest, end: End): FastifyReply {
  switch (end.kind) {
    case 'linked':
      return reply.redirect(toLinked(end.connections, end.isRenewal), 303)
    case 'failed': {
      const again = toAgain(end.provider, end.connectionId)
      const name = nameOf(context, end.provider)
      const page = renderFailed(
        { reason: end.reason, provider: end.provider, name },
        { again, list: listPath },
      )
      const isOurs = ['unavailable', 'interrupted', 'misconfigured'].includes(end.reason)
      return context.show(reply.code(isOurs ? 503 : 200), visit, page)
    }
    case 'over':
      return reply.redirect(listPath, 303)
    case 'unknown':
    case 'expired':
    case 'other_session':
      return context.show(reply.code(400), visit, renderUnusable(end.kind, newPath))
    default:
      return unreachable(end)
  }
}

function nameOf({ connections }: PagesContext, provider: Provider): string {
  return connections.linkingWays.find((way) => way.provider === provider)?.name ?? provider
}

/** The page on which the person can begin the same once more. */
function toAgain(provider: Provider, connectionId: ConnectionId | null): string {
  return connectionId === null ? `${newPath}?provider=${provider}` : `${listPath}/${connectionId}`
}

function addWaiting(scope: FastifyInstance, context: PagesContext): void {
  const place = { path: waitingPath(':attempt'), returnTo: listPath }

  // Resuming changes nothing but what the person has just agreed to, so a GET may do it.
  addPage(scope, context, place, async (turn) => {
    const { reply, visit } = turn
    const state = await context.connections.resumeLinking(toBy(visit), turn.part('attempt'))
    if (state.kind !== 'waiting') return showEnd(context, turn, state)
    const path = waitingPath(state.attempt)
    const isWatching = autoRefresh(turn, path)
    const formToken = html`${hidden('token', visit.formToken)}`
    const name = nameOf(context, state.provider)
    const { isUnread } = state
    return context.show(
      reply,
      visit,
      renderUnfinished({ name, isUnread, path, formToken, isWatching }),
    )
  })

  addForm(scope, context, place, async ({ part, reply }) =>
    reply.redirect(waitingPath(encodeURIComponent(part('attempt'))), 303),
  )
}
