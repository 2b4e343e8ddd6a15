/** Consent: a person allows or denies an agent's request to read. */
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { PendingConsent } from '#auth/oauth/port.ts'
import { grantableScopes, hasApiAccess } from '#auth/plans.ts'
import { ApiError } from '#contract/errors.ts'
import type { PagesContext } from '../context.ts'
import { formOf, toSignIn } from '../forms.ts'
import { renderNotice } from '../notices.ts'
import { toBy } from '../signed-in.ts'
import { isSignedIn, type SignedIn, type Visit } from '../visit.ts'
import { choosing, renderConsent } from './consent-page.ts'

interface WithUid {
  Params: { readonly uid: string }
  Querystring: Readonly<Record<string, unknown>>
}

export function addConsentRoutes(scope: FastifyInstance, context: PagesContext): void {
  const { consent, visits } = context

  function showExpired(reply: FastifyReply, visit: Visit): FastifyReply {
    reply.code(400)
    const body = renderNotice(
      'This request has expired',
      'Go back to the agent and connect it again, and use one browser from start to end.',
    )
    return context.show(reply, visit, { title: 'Request expired', body })
  }

  scope.get<WithUid>('/consent/:uid', async (request, reply) => {
    const visit = await visits.begin(request, reply)
    const pending = await consent.find(request.raw, reply.raw)
    if (pending === null || pending.uid !== request.params.uid) return showExpired(reply, visit)
    // The action refuses a decision without a recently given password, so it is asked for before the page.
    if (visit.user === null || visit.session?.isFresh !== true) {
      return toSignIn(reply, `/consent/${encodeURIComponent(pending.uid)}`)
    }
    return isSignedIn(visit) ? showRequest(context, { reply, visit }, { pending }) : reply
  })

  scope.post<WithUid>('/consent/:uid', async (request, reply) => {
    const form = formOf(request)
    const visit = await visits.accept(request, reply, { form, arriving: false })
    if (visit === null) return context.refusePost(request, reply)
    const pending = await consent.find(request.raw, reply.raw)
    if (pending === null || pending.uid !== request.params.uid) return showExpired(reply, visit)
    const signIn = `/consent/${encodeURIComponent(pending.uid)}`
    if (!isSignedIn(visit))
      return context.interrupted.interrupt(reply, { path: signIn, form, kept: [] })
    const { user, session } = visit
    const decision = { actor: toBy(visit).actor, signedInAt: session.signedInAt }
    const connections = readChoice(form, request.query)
    const offered = form.getAll('offered')
    const input = { scopes: form.getAll('scope'), ...(connections && { connections }), offered }
    let next: string | null
    try {
      // Any choice but allowing counts as denying.
      next =
        form.get('decision') === 'allow'
          ? await consent.allow(request.raw, reply.raw, { ...decision, plan: user, input })
          : await consent.deny(request.raw, reply.raw, decision)
    } catch (error) {
      if (!(error instanceof ApiError) || error.entry !== 'invalid_params') throw error
      return showRequest(context, { reply: reply.code(400), visit }, { pending, choseNone: true })
    }
    if (next === null) return context.interrupted.interrupt(reply, { path: signIn, form, kept: [] })
    return reply.redirect(next, 303)
  })
}

/**
 * The chosen connections; undefined: no choice was made, which means every one. A browser that shows the
 * boxes says so in the form's address, so that a form without any is one where all were unticked.
 */
function readChoice(
  form: URLSearchParams,
  query: WithUid['Querystring'],
): readonly string[] | undefined {
  const isChoice = query[choosing.name] === choosing.value || form.has('connection')
  return isChoice ? form.getAll('connection') : undefined
}

interface Shown {
  readonly pending: PendingConsent
  /** The form was sent with no connection ticked. */
  readonly choseNone?: boolean
}

async function showRequest(
  context: PagesContext,
  { reply, visit }: { readonly reply: FastifyReply; readonly visit: SignedIn },
  { pending, choseNone = false }: Shown,
): Promise<FastifyReply> {
  const { user, formToken } = visit
  const { store } = context
  const [connections, accounts] = await Promise.all([
    store.connections.list(user.id),
    store.accounts.list(user.id),
  ])
  const body = renderConsent({
    consent: pending,
    email: user.email,
    formToken,
    mayRead: hasApiAccess(user, context.plans, context.clock.now()),
    offered: grantableScopes(pending.scopes, user, context.plans),
    connections,
    accounts,
    choseNone,
  })
  const { formAction } = pending
  return context.show(reply, visit, { title: 'Let an agent read?', body, formAction })
}
