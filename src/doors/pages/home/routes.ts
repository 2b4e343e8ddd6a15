/** The start page. */
import type { FastifyInstance } from 'fastify'
import { readOverview, readRunDays, sortByNeed } from '#connections/overview.ts'
import type { CardsOptions } from '../connections/list-page.ts'
import type { PagesContext } from '../context.ts'
import { zoneOf } from '../signed-in.ts'
import { isSignedIn, type SignedIn } from '../visit.ts'
import { readFirstSteps } from '../welcome/first-steps.ts'
import { renderHome, renderSignedOutHome } from './home-page.ts'

export function addHomeRoutes(scope: FastifyInstance, context: PagesContext): void {
  const { signIns, visits } = context

  scope.get('/', async (request, reply) => {
    const visit = await visits.begin(request, reply)
    if (!isSignedIn(visit)) {
      const body = renderSignedOutHome({ signUpIsOpen: signIns.signUpIsOpen })
      return context.show(reply, visit, { title: 'Start', body })
    }
    const [steps, cards] = await Promise.all([
      readFirstSteps(context, visit),
      readCards(context, visit),
    ])
    const body = renderHome({ user: visit.user, steps, cards })
    return context.show(reply, visit, {
      title: 'Overview',
      body,
      formAction: context.linkingTargets,
    })
  })
}

/** Null: there is no connection yet. */
async function readCards(
  { store, clock, connections }: PagesContext,
  { user, formToken }: SignedIn,
): Promise<CardsOptions | null> {
  const [zone, now] = [zoneOf(user), clock.now()]
  const [all, { counts }] = await Promise.all([
    readOverview(store, user.id),
    readRunDays(store, user.id, { now, zone }),
  ])
  if (all.length === 0) return null
  return {
    connections: sortByNeed(all),
    ...{ zone, now, formToken },
    renewalOf: ({ row }) => connections.renewals.guess(row),
    countsOf: ({ row }) => counts.get(row.id),
  }
}
