/** The start page, and the welcome page after a sign-up. */
import type { FastifyInstance } from 'fastify'
import { hasApiAccess } from '#auth/plans.ts'
import type { UserRow } from '#store/ports/users.ts'
import type { PagesContext } from '../context.ts'
import { type HomeFacts, renderHome, renderSignedOutHome, renderWelcome } from './pages.ts'

export function addHomeRoutes(scope: FastifyInstance, context: PagesContext): void {
  const { signIns, visits } = context

  scope.get('/', async (request, reply) => {
    const visit = await visits.begin(request, reply)
    const body =
      visit.user === null
        ? renderSignedOutHome({ signUpIsOpen: signIns.signUpIsOpen })
        : renderHome(await readHomeFacts(context, visit.user))
    return context.show(reply, visit, { title: visit.user === null ? 'Start' : 'Overview', body })
  })

  scope.get('/welcome', async (request, reply) => {
    const visit = await visits.begin(request, reply)
    if (visit.user === null) return reply.redirect('/sign-in?return=%2Fwelcome', 303)
    const body = renderWelcome(await readHomeFacts(context, visit.user))
    return context.show(reply, visit, { title: 'Your account is ready', body })
  })
}

async function readHomeFacts(context: PagesContext, user: UserRow): Promise<HomeFacts> {
  return {
    user,
    connections: (await context.store.connections.list(user.id)).length,
    mayRead: hasApiAccess(user, context.plans, context.clock.now()),
    mcpUrl: `${context.origins().mcp}/mcp`,
  }
}
