/** Lists connected agents and disconnects them. */
import type { FastifyInstance } from 'fastify'
import { hasApiAccess } from '#auth/plans.ts'
import type { PagesContext } from '../context.ts'
import { queryOf } from '../forms.ts'
import { addForm, addPage, readDone, toBy, zoneOf } from '../signed-in.ts'
import { agentsDone, renderAgents, renderDisconnect } from './agents-page.ts'

const path = '/agents'
const questionPath = `${path}/disconnect`
const maxGrantLength = 200

export function addAgentRoutes(scope: FastifyInstance, context: PagesContext): void {
  const { agents } = context

  addPage(scope, context, { path }, async ({ visit, reply }) => {
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

  addPage(scope, context, { path: questionPath }, async ({ visit, request, reply }) => {
    const { grant } = queryOf(request)
    const agent = (await agents.list(visit.user.id)).find(({ grantId }) => grantId === grant)
    // Another user's grant, or a revoked one: the list shows what is connected.
    if (agent === undefined) return reply.redirect(`${path}?done=gone`, 303)
    const body = renderDisconnect(agent, visit.formToken)
    return context.show(reply, visit, { title: 'Disconnect this agent?', body })
  })

  addForm(
    scope,
    context,
    { path: questionPath, returnTo: path },
    async ({ visit, reply, form }) => {
      const grantId = (form.get('grant') ?? '').slice(0, maxGrantLength)
      const decision = form.get('decision')
      if (decision === null)
        return reply.redirect(`${questionPath}?grant=${encodeURIComponent(grantId)}`, 303)
      if (decision !== 'confirm') return reply.redirect(path, 303)
      // Another user's grant, or a revoked one, is treated as one that does not exist.
      const isDone = await agents.disconnect(toBy(visit), visit.user.id, { grantId })
      return reply.redirect(`${path}?done=${isDone ? 'disconnected' : 'gone'}`, 303)
    },
  )
}
