/** The page of counted requests and limits. */
import type { FastifyInstance } from 'fastify'
import type { UsageReport } from '#usage/report.ts'
import type { PagesContext } from '../context.ts'
import { addPage } from '../signed-in.ts'
import { writeDays, writeReaders } from './usage-file.ts'
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
  const addFile = (path: string, name: string, write: (report: UsageReport) => string) =>
    addPage(scope, context, { path }, async ({ visit, reply }) =>
      reply
        .type('text/csv; charset=utf-8')
        .header('content-disposition', `attachment; filename="${name}"`)
        .send(write(await readUsage(visit.user, daysShown))),
    )
  addFile('/usage/download', 'usage.csv', writeDays)
  addFile('/usage/download/readers', 'usage-by-key.csv', writeReaders)
}
