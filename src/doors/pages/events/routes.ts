/** A person's consumers of events: the list, and the removal of one. */
import type { FastifyInstance } from 'fastify'
import type { PagesContext } from '../context.ts'
import { addPage, addQuestion, readDone, toBy, zoneOf } from '../signed-in.ts'
import { consumersDone, consumersPath, renderConsumers, renderRemoval } from './consumers-page.ts'

export function addEventRoutes(scope: FastifyInstance, context: PagesContext): void {
  addPage(scope, context, { path: consumersPath }, async ({ visit, reply }) => {
    const body = renderConsumers({
      consumers: await context.store.consumers.list(visit.user.id),
      zone: zoneOf(visit.user),
      origin: context.origins().base,
      done: readDone(context, reply, consumersDone),
    })
    return context.show(reply, visit, { title: 'Fetched events', body })
  })

  const place = { path: `${consumersPath}/:consumer/remove`, returnTo: consumersPath }
  addQuestion(scope, context, place, {
    async find({ visit, part }) {
      const own = await context.store.consumers.list(visit.user.id)
      return own.find(({ id }) => id === part('consumer')) ?? null
    },
    title: 'Remove this consumer?',
    render: renderRemoval,
    async act({ visit }, { id }) {
      await context.webhooks.removeConsumer(toBy(visit), id)
      return `${consumersPath}?done=removed`
    },
  })
}
