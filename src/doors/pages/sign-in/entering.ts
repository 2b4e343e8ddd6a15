/** What all steps of a sign-in share: the session's cookies, the agent that waits, the text of a wait. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { setUpLifeSeconds } from '#auth/sign-in/second-factor.ts'
import type { CompletedSignIn, TryLater } from '#auth/sign-in/sign-ins.ts'
import type { By } from '#contract/actor.ts'
import type { SessionId, UserId } from '#kernel/ids.ts'
import type { PagesContext } from '../context.ts'
import { localPath } from '../forms.ts'
import { readBegun, rememberBegun } from '../linking/begun-here.ts'
import type { Visit } from '../visit.ts'

export interface WithReturn {
  Querystring: { readonly return?: string | string[] }
}

/** The request of a person who signs in or signs up. */
export interface Coming {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly visit: Visit
}

/** Status, `Retry-After` and text for a person who has to wait. */
export function askToRetry(reply: FastifyReply, { kind, retryAfterSeconds }: TryLater): string {
  const isBusy = kind === 'busy'
  reply.code(isBusy ? 503 : 429).header('retry-after', String(retryAfterSeconds))
  const reason = isBusy ? 'Many people are signing in at this moment' : 'Too many attempts'
  return `${reason}. Try again in ${inWords(retryAfterSeconds)}.`
}

function inWords(seconds: number): string {
  if (seconds <= 120) return seconds === 1 ? '1 second' : `${seconds} seconds`
  const minutes = Math.ceil(seconds / 60)
  return minutes <= 120 ? `${minutes} minutes` : `${Math.ceil(minutes / 60)} hours`
}

const consentPath = '/consent/'

/** The name of the agent whose consent request `returnTo` leads to, if that request waits in this browser. */
export async function waitingAgent(
  { consent }: PagesContext,
  { raw }: FastifyRequest,
  reply: FastifyReply,
  returnTo: string,
): Promise<string | null> {
  if (!returnTo.startsWith(consentPath)) return null
  const pending = await consent.find(raw, reply.raw)
  const isMeant = returnTo === `${consentPath}${encodeURIComponent(pending?.uid ?? '')}`
  return isMeant ? (pending?.clientName ?? null) : null
}

/**
 * Always sets a new token: knowing the old cookie must not give access (session fixation). False when the
 * password or the code is no longer good: then there is no session.
 */
export async function enter(
  context: PagesContext,
  coming: Coming,
  { proof, browser }: CompletedSignIn,
): Promise<boolean> {
  const { sessions, cookies } = context
  const { request, reply, visit } = coming
  const by: By = { actor: { kind: 'visitor', address: visit.address } }
  const started = await sessions.start(by, proof, visit.session, agentOf(request))
  if (started === null) return false
  cookies.setSession(reply, started.token)
  cookies.setBrowser(reply, browser)
  const { id, userId } = started.session
  if (visit.session?.userId === userId) {
    carryOn(context, coming, { userId, from: visit.session.id, to: id })
  }
  return true
}

/**
 * What the same person began in the session that this one replaces: the set-up of a second factor, a link.
 */
export function carryOn(
  context: PagesContext,
  { request, reply }: Pick<Coming, 'request' | 'reply'>,
  { userId, from, to }: Record<'from' | 'to', SessionId> & { readonly userId: UserId },
): void {
  const { signIns, cookies } = context
  if (readBegun(context, request, userId).includes(from)) {
    rememberBegun(context, { request, reply }, { id: to, userId })
  }
  const held = cookies.sealed(request, 'set-up')
  const moved = signIns.secondFactors.moveSetUp(held, from, to)
  if (moved !== null) cookies.setSealed(reply, 'set-up', moved, setUpLifeSeconds)
}

/** What the browser calls itself. */
export function agentOf({ headers }: FastifyRequest): string | null {
  return headers['user-agent'] ?? null
}

/** The path to continue to. */
export function returnOf(request: FastifyRequest<WithReturn>): string {
  const given = request.query.return
  return localPath(typeof given === 'string' ? given : null)
}
