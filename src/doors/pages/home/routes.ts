/** The start page. */
import type { FastifyInstance } from 'fastify'
import type { PagesContext } from '../context.ts'
import { isSignedIn } from '../visit.ts'
import { readFirstSteps } from '../welcome/first-steps.ts'
import { renderHome, renderSignedOutHome } from './pages.ts'

export function addHomeRoutes(scope: FastifyInstance, context: PagesContext): void {
  const { signIns, visits } = context

  scope.get('/', async (request, reply) => {
    const visit = await visits.begin(request, reply)
    if (!isSignedIn(visit)) {
      const body = renderSignedOutHome({ signUpIsOpen: signIns.signUpIsOpen })
      return context.show(reply, visit, { title: 'Start', body })
    }
    const body = renderHome({ user: visit.user, steps: await readFirstSteps(context, visit) })
    return context.show(reply, visit, { title: 'Overview', body })
  })
}
