/** Lists connected agents and disconnects them. */
import type { FastifyInstance } from 'fastify'
import { hasApiAccess } from '#auth/plans.ts'
import type { PagesContext } from '../context.ts'
import { formOf, toSignIn } from '../forms.ts'
import { readDone, toBy, zoneOf } from '../signed-in.ts'
import { isSignedIn } from '../visit.ts'
import { agentsDone, renderAgents, renderDisconnect } from './agents-page.ts'

interface WithGrant {
  Querystring: { readonly grant?: string | string[] }
}

const maxGrantLength = 200

/** Path of the confirmation page. */
function toQuestion(grantId: string): string {
  return `/agents/disconnect?grant=${encodeURIComponent(grantId)}`
}

export function addAgentRoutes(scope: FastifyInstance, context: PagesContext): void {
  const { agents, visits } = context

  scope.get('/agents', async (request, reply) => {
    const visit = await visits.begin(request, reply)
    if (visit.user === null) return toSignIn(reply, '/agents')
    const body = renderAgents({
      agents: await agents.list(visit.user.id),
      formToken: visit.formToken,
      mcpUrl: `${context.origins().mcp}/mcp`,
      zone: zoneOf(visit.user),
      now: context.clock.now(),
      isLoopback: context.isLoopback,
      mayRead: hasApiAccess(visit.user, context.plans, context.clock.now()),
      done: readDone(context, reply, agentsDone),
    })
    return context.show(reply, visit, { title: 'Agents', body })
  })

  scope.get<WithGrant>('/agents/disconnect', async (request, reply) => {
    const visit = await visits.begin(request, reply)
    const { grant } = request.query
    const grantId = typeof grant === 'string' ? grant.slice(0, maxGrantLength) : ''
    if (visit.user === null) return toSignIn(reply, toQuestion(grantId))
    const agent = (await agents.list(visit.user.id)).find((one) => one.grantId === grantId)
    // Another user's grant, or a revoked one: the list shows what is connected.
    if (agent === undefined) return reply.redirect('/agents?done=gone', 303)
    const body = renderDisconnect(agent, visit.formToken)
    return context.show(reply, visit, { title: 'Disconnect this agent?', body })
  })

  scope.post('/agents/disconnect', async (request, reply) => {
    const form = formOf(request)
    const visit = await visits.accept(request, reply, { form, arriving: false })
    if (visit === null) return context.refusePost(request, reply)
    if (!isSignedIn(visit))
      return context.interrupted.interrupt(reply, { path: '/agents', form, kept: [] })
    const grantId = (form.get('grant') ?? '').slice(0, maxGrantLength)
    const decision = form.get('decision')
    if (decision === null) return reply.redirect(toQuestion(grantId), 303)
    if (decision !== 'confirm') return reply.redirect('/agents', 303)
    // Another user's grant, or a revoked one, is treated as one that does not exist.
    const isDone = await agents.disconnect(toBy(visit), visit.user.id, { grantId })
    return reply.redirect(isDone ? '/agents?done=disconnected' : '/agents?done=gone', 303)
  })
}
