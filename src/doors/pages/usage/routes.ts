/** The page of counted requests and limits. */
import type { FastifyInstance } from 'fastify'
import type { PagesContext } from '../context.ts'
import { addPage } from '../signed-in.ts'
import { writeUsage } from './usage-file.ts'
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
  addPage(scope, context, { path: '/usage/download' }, async ({ visit, reply }) => {
    const report = await readUsage(visit.user, daysShown)
    return reply
      .type('text/csv; charset=utf-8')
      .header('content-disposition', 'attachment; filename="usage.csv"')
      .send(writeUsage(report))
  })
}
