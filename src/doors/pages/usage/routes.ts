/** The page of counted requests and limits. */
import type { FastifyInstance } from 'fastify'
import type { PagesContext } from '../context.ts'
import { addPage } from '../signed-in.ts'
import { renderUsage } from './usage-page.ts'

const daysShown = 30

export function addUsageRoutes(scope: FastifyInstance, context: PagesContext): void {
  const { readUsage, readLimits } = context
  addPage(scope, context, { path: '/usage' }, async ({ visit, reply }) => {
    const [report, limits] = await Promise.all([
      readUsage(visit.user, daysShown),
      readLimits(visit.user.id),
    ])
    return context.show(reply, visit, { title: 'Usage', body: renderUsage({ report, limits }) })
  })
}
