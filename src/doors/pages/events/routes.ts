/** A person's consumers of events: the list, and the removal of one. */
import type { FastifyInstance } from 'fastify'
import type { PagesContext } from '../context.ts'
import { addForm, addPage, readDone, toBy, zoneOf } from '../signed-in.ts'
import type { SignedIn } from '../visit.ts'
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
  /** Another person's consumer is treated as one that does not exist. */
  const find = async ({ user }: SignedIn, id: string) =>
    (await context.store.consumers.list(user.id)).find((row) => row.id === id) ?? null

  addPage(scope, context, place, async ({ visit, reply, part }) => {
    const consumer = await find(visit, part('consumer'))
    if (consumer === null) return reply.redirect(`${consumersPath}?done=gone`, 303)
    const body = renderRemoval(consumer, visit.formToken)
    return context.show(reply, visit, { title: 'Remove this consumer?', body })
  })

  addForm(scope, context, place, async ({ visit, reply, form, part }) => {
    const consumer = await find(visit, part('consumer'))
    if (consumer === null) return reply.redirect(`${consumersPath}?done=gone`, 303)
    if (form.get('decision') !== 'confirm') return reply.redirect(consumersPath, 303)
    await context.webhooks.removeConsumer(toBy(visit), consumer.id)
    return reply.redirect(`${consumersPath}?done=removed`, 303)
  })
}
