/** Consent: a person allows or denies an agent's request to read. */
import type { FastifyInstance, FastifyReply } from 'fastify'
import { grantableScopes, hasApiAccess } from '#auth/plans.ts'
import type { PagesContext } from '../context.ts'
import { formOf, toSignIn } from '../forms.ts'
import { renderNotice } from '../notices.ts'
import { toBy } from '../signed-in.ts'
import { isSignedIn, type Visit } from '../visit.ts'
import { renderConsent } from './consent-page.ts'

interface WithUid {
  Params: { readonly uid: string }
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
    const body = renderConsent({
      consent: pending,
      email: visit.user.email,
      formToken: visit.formToken,
      mayRead: hasApiAccess(visit.user, context.plans, context.clock.now()),
      offered: grantableScopes(pending.scopes, visit.user, context.plans),
    })
    const { formAction } = pending
    return context.show(reply, visit, { title: 'Let an agent read?', body, formAction })
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
    const input = { scopes: form.getAll('scope') }
    // Any choice but allowing counts as denying.
    const next =
      form.get('decision') === 'allow'
        ? await consent.allow(request.raw, reply.raw, { ...decision, plan: user, input })
        : await consent.deny(request.raw, reply.raw, decision)
    if (next === null) return context.interrupted.interrupt(reply, { path: signIn, form, kept: [] })
    return reply.redirect(next, 303)
  })
}
