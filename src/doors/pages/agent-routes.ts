/** Consent and connected agents: what a person decides about the programs that may read. */
import type { FastifyInstance, FastifyReply } from 'fastify'
import { hasApiAccess, hasBrokerageAccess } from '#auth/plans.ts'
import { isScope } from '#auth/scopes.ts'
import { renderNotice } from './account-pages.ts'
import { renderAgents, renderConsent } from './agent-pages.ts'
import { formOf } from './forms.ts'
import type { PagesContext } from './pages-door.ts'
import type { Visit } from './visit.ts'

interface WithUid {
  Params: { readonly uid: string }
}

/** Adds them all. */
export function addAgentRoutes(scope: FastifyInstance, context: PagesContext): void {
  addConsentRoutes(scope, context)
  addListRoutes(scope, context)
}

function toSignIn(reply: FastifyReply, path: string): FastifyReply {
  return reply.redirect(`/sign-in?return=${encodeURIComponent(path)}`, 303)
}

function addConsentRoutes(scope: FastifyInstance, context: PagesContext): void {
  const { consent, visits } = context

  function showExpired(reply: FastifyReply, visit: Visit): FastifyReply {
    reply.code(400)
    const body = renderNotice(
      'This request has expired',
      'Go back to the agent and connect it again; the way from there to here must be walked in one browser.',
    )
    return context.show(reply, visit, { title: 'Request expired', body })
  }

  scope.get<WithUid>('/consent/:uid', async (request, reply) => {
    const visit = await visits.begin(request, reply)
    const pending = await consent.find(request.raw, reply.raw)
    if (pending === null || pending.uid !== request.params.uid) return showExpired(reply, visit)
    // Approving needs a password given of late: a browser left open must not be enough.
    if (visit.user === null || visit.session?.isFresh !== true) {
      return toSignIn(reply, `/consent/${encodeURIComponent(pending.uid)}`)
    }
    const body = renderConsent({
      consent: pending,
      email: visit.user.email,
      formToken: visit.formToken,
      mayRead: hasApiAccess(visit.user, context.plans, context.clock.now()),
      mayReadBrokerage: hasBrokerageAccess(visit.user, context.plans),
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
    const { user, session } = visit
    if (user === null || session?.isFresh !== true) {
      return toSignIn(reply, `/consent/${encodeURIComponent(pending.uid)}`)
    }
    if (form.get('decision') !== 'allow') {
      return reply.redirect(await consent.deny(request.raw, reply.raw), 303)
    }
    const mayReadBrokerage = hasBrokerageAccess(user, context.plans)
    const scopes = form
      .getAll('scope')
      .filter(isScope)
      .filter((scope) => scope !== 'brokerage:read' || mayReadBrokerage)
    // Everything left out is the same as no.
    const next =
      scopes.length === 0
        ? await consent.deny(request.raw, reply.raw)
        : await consent.allow(request.raw, reply.raw, {
            userId: user.id,
            scopes,
            signedInAt: session.signedInAt,
          })
    return reply.redirect(next, 303)
  })
}

function addListRoutes(scope: FastifyInstance, context: PagesContext): void {
  const { agents, visits } = context

  scope.get('/agents', async (request, reply) => {
    const visit = await visits.begin(request, reply)
    if (visit.user === null) return toSignIn(reply, '/agents')
    const body = renderAgents({
      agents: await agents.list(visit.user.id),
      formToken: visit.formToken,
      mcpUrl: `${context.origins().mcp}/mcp`,
    })
    return context.show(reply, visit, { title: 'Agents', body })
  })

  scope.post('/agents/disconnect', async (request, reply) => {
    const form = formOf(request)
    const visit = await visits.accept(request, reply, { form, arriving: false })
    if (visit === null) return context.refusePost(request, reply)
    if (visit.user === null) return toSignIn(reply, '/agents')
    // Another user's grant, or one that is gone, is simply not there any more afterwards.
    await agents.disconnect(visit.user.id, (form.get('grant') ?? '').slice(0, 200))
    return reply.redirect('/agents', 303)
  })
}
