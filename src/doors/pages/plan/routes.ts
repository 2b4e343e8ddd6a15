/** The page of a person's plan. */
import type { FastifyInstance } from 'fastify'
import { sellsPlans, summarisePlan } from '#auth/plans.ts'
import type { PagesContext } from '../context.ts'
import { addPage, zoneOf } from '../signed-in.ts'
import { renderEverything, renderPlan } from './plan-page.ts'

export function addPlanRoutes(scope: FastifyInstance, context: PagesContext): void {
  addPage(scope, context, { path: '/plan' }, async ({ visit, reply }) => {
    const summary = summarisePlan(visit.user, context.plans, context.clock.now())
    const hasEverything = summary.mayRead && summary.mayReadBrokerage
    const body =
      hasEverything && !sellsPlans(context.plans)
        ? renderEverything()
        : renderPlan(summary, zoneOf(visit.user))
    return context.show(reply, visit, { title: 'Plan', body })
  })
}
