/** The start page. */
import type { FastifyInstance } from 'fastify'
import { readOverview, readRunDays, sortByNeed } from '#connections/overview.ts'
import type { PagesContext } from '../context.ts'
import { queryOf } from '../forms.ts'
import { zoneOf } from '../signed-in.ts'
import { isSignedIn, type SignedIn } from '../visit.ts'
import { readFirstSteps } from '../welcome/first-steps.ts'
import { type HomeOptions, renderHome, renderSignedOutHome } from './home-page.ts'
import { findNeeds } from './needs.ts'
import { readRiver } from './read-river.ts'

/** Longer than the name of any bank. */
const maxSearch = 100

export function addHomeRoutes(scope: FastifyInstance, context: PagesContext): void {
  const { signIns, visits } = context

  scope.get('/', async (request, reply) => {
    const visit = await visits.begin(request, reply)
    if (!isSignedIn(visit)) {
      const body = renderSignedOutHome({ signUpIsOpen: signIns.signUpIsOpen })
      return context.show(reply, visit, { title: 'Start', body })
    }
    const { q } = queryOf(request)
    const search = typeof q === 'string' ? q.trim().slice(0, maxSearch) : ''
    const body = renderHome(await readHome(context, visit, search))
    return context.show(reply, visit, {
      title: 'Overview',
      body,
      formAction: context.linkingTargets,
    })
  })
}

async function readHome(context: PagesContext, visit: SignedIn, q: string): Promise<HomeOptions> {
  const { store, clock, connections } = context
  const { user, formToken } = visit
  const [zone, now] = [zoneOf(user), clock.now()]
  const [steps, all, { counts }, endpoints, keys] = await Promise.all([
    readFirstSteps(context, visit),
    readOverview(store, user.id),
    readRunDays(store, user.id, { now, zone }),
    store.endpoints.list(user.id),
    store.keys.list(user.id),
  ])
  const sorted = sortByNeed(all)
  const cards = {
    connections: sorted,
    ...{ zone, now, formToken },
    renewalOf: ({ row }: (typeof all)[number]) => connections.renewals.guess(row),
    countsOf: ({ row }: (typeof all)[number]) => counts.get(row.id),
  }
  return {
    ...{ steps, q },
    needs: findNeeds({ endpoints, keys }, now),
    cards: all.length === 0 ? null : cards,
    river:
      all.length === 0
        ? { sources: [], readers: [], endpoints: [] }
        : await readRiver(context, visit, { connections: sorted, counts, endpoints }),
  }
}
