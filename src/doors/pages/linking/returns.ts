/**
 * Where browsers return from the page of a provider. The state in the address is used once, by its own person and browser, so a GET may
 * end the link; a visitor who is signed out is led to the sign-in and back with the state unused. HEAD is not answered.
 */
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { LinkingWay } from '#connections/connections.ts'
import { ApiError } from '#contract/errors.ts'
import type { ConnectionId, LoginId } from '#kernel/ids.ts'
import { parseUuid } from '#kernel/ids.ts'
import { unreachable } from '#kernel/unreachable.ts'
import type { PagesContext } from '../context.ts'
import { toSignIn } from '../forms.ts'
import { html } from '../html.ts'
import { hidden } from '../layout.ts'
import { addForm, addPage, leadOn, type Turn, toBy } from '../signed-in.ts'
import { isSignedIn } from '../visit.ts'
import { readBegun } from './begun-here.ts'
import { renderFailed, renderUnusable, renderWaiting } from './end-pages.ts'
import { listPath, newPath, toLinked, toReturnOrigin, waitingPath } from './places.ts'

export function addReturnRoutes(scope: FastifyInstance, context: PagesContext): void {
  for (const way of context.connections.linkingWays.filter(({ hasPage }) => hasPage)) {
    const path = `/providers/${way.provider}/callback`
    addReturn(scope, context, { way, path })
    addReturn(scope, context, { way, path: `${path}/:state` })
  }
  addWaiting(scope, context)
}

interface Return {
  readonly way: LinkingWay
  readonly path: string
}

function addReturn(scope: FastifyInstance, context: PagesContext, { way, path }: Return): void {
  scope.get(path, { exposeHeadRoute: false }, async (request, reply) => {
    const visit = await context.visits.begin(request, reply)
    if (!isSignedIn(visit)) return toSignIn(reply, request.url)
    const params: Readonly<Record<string, unknown>> = { ...(request.params as object) }
    const query = URL.parse(request.url, 'http://localhost')?.searchParams ?? new URLSearchParams()
    const state = typeof params.state === 'string' ? params.state : (query.get('state') ?? '')
    const turn = { visit, request, reply, part: () => '' }
    const places = { signIn: listPath, list: listPath }
    return finish(context, turn, { way, state, query }).catch((error: unknown) =>
      leadOn(error, reply, places),
    )
  })
}

interface Arrived {
  readonly way: LinkingWay
  readonly state: string
  readonly query: URLSearchParams
}

async function finish(
  context: PagesContext,
  turn: Turn,
  { way, state, query }: Arrived,
): Promise<FastifyReply> {
  const { visit, request, reply } = turn
  const { provider, name } = way
  const baseUrl = toReturnOrigin(context, request)
  const begunIn = readBegun(context, request, visit.user.id)
  const arrival = { provider, state, query, baseUrl, begunIn }
  const end = await context.connections.finishLinking(toBy(visit), arrival)
  switch (end.kind) {
    case 'linked':
      return reply.redirect(toLinked(end.connections), 303)
    case 'waiting':
      return reply.redirect(waitingPath(end.loginId), 303)
    case 'unread':
      return reply.redirect(`${waitingPath(end.loginId)}?why=unread`, 303)
    case 'used':
      return reply.redirect(end.loginId === null ? listPath : waitingPath(end.loginId), 303)
    case 'failed': {
      const again = toAgain(way, end.connectionId)
      const page = renderFailed({ reason: end.reason, name }, { again, list: listPath })
      const isOurs = end.reason === 'unavailable' || end.reason === 'misconfigured'
      return context.show(reply.code(isOurs ? 503 : 200), visit, page)
    }
    case 'unknown':
    case 'expired':
    case 'other_session':
      return context.show(reply.code(400), visit, renderUnusable(end.kind, newPath))
    default:
      return unreachable(end)
  }
}

/** The page on which the person can begin the same once more. */
function toAgain({ provider }: LinkingWay, connectionId: ConnectionId | null): string {
  return connectionId === null ? `${newPath}?provider=${provider}` : `${listPath}/${connectionId}`
}

/** The page looks by itself so often, every few seconds: two minutes in all. */
const maxLooks = 30
const lookSeconds = 4

function addWaiting(scope: FastifyInstance, context: PagesContext): void {
  const place = { path: waitingPath(':login'), returnTo: listPath }

  // Looking changes nothing but what the person agreed to a moment ago, so the page may look when it is read.
  addPage(scope, context, place, async (turn) => {
    const { request, reply, visit } = turn
    const loginId = parseUuid<LoginId>(turn.part('login'))
    if (loginId === null) return reply.redirect(listPath, 303)
    const found = await look(context, turn, loginId)
    if (typeof found === 'string') return reply.redirect(found, 303)
    const looks = readLooks(request.query)
    const path = waitingPath(loginId)
    const isWatching = looks < maxLooks
    if (isWatching) reply.header('refresh', `${lookSeconds}; url=${path}?look=${looks + 1}`)
    const formToken = html`${hidden('token', visit.formToken)}`
    const page = renderWaiting({ ...found, path, formToken, isWatching })
    return context.show(reply, visit, page)
  })

  addForm(scope, context, place, async (turn) => {
    const loginId = parseUuid<LoginId>(turn.part('login'))
    return turn.reply.redirect(loginId === null ? listPath : waitingPath(loginId), 303)
  })
}

/** Looks for the consent; the text is the page that follows. */
async function look(
  context: PagesContext,
  { visit }: Turn,
  loginId: LoginId,
): Promise<string | { readonly name: string; readonly isUnread: boolean }> {
  const end = await context.connections.resumeLinking(toBy(visit), loginId).catch(toOver)
  if (end.kind === 'over') return listPath
  if (end.kind === 'linked') return toLinked(end.connections)
  const { linkingWays } = context.connections
  const name = linkingWays.find(({ provider }) => provider === end.provider)?.name ?? end.provider
  return { name, isUnread: end.kind === 'unread' }
}

/** The user was deleted meanwhile. */
function toOver(error: unknown): { readonly kind: 'over' } {
  if (error instanceof ApiError && error.entry === 'user_not_found') return { kind: 'over' }
  throw error
}

function readLooks(query: unknown): number {
  const { look: given }: Readonly<Record<string, unknown>> = { ...(query as object) }
  return typeof given === 'string' && /^\d{1,3}$/.test(given) ? Number(given) : 0
}
