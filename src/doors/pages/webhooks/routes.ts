/** A person's webhook endpoints: listed, added, tested, switched, rotated, removed, with their deliveries. */
import type { FastifyInstance, FastifyReply } from 'fastify'
import { syncEventTypes } from '#contract/events.ts'
import { type DeliveryId, type EndpointId, parseUuid } from '#kernel/ids.ts'
import { addDays, getZone, hourMs, parseDay, toIso } from '#kernel/time.ts'
import type { DeliveryRow } from '#store/ports/deliveries.ts'
import type { EndpointRow } from '#store/ports/endpoints.ts'
import { autoRefresh } from '../auto-refresh.ts'
import type { PagesContext } from '../context.ts'
import { rememberDone } from '../done-notes.ts'
import { type Query, queryOf } from '../forms.ts'
import {
  addForm,
  addPage,
  addQuestion,
  type FormTurn,
  isFormRefusal,
  readDone,
  readKept,
  type SignedInRequest,
  toBy,
  toProblems,
  zoneOf,
} from '../signed-in.ts'
import { type DeliverySearch, deliverySearches } from './deliveries-view.ts'
import { renderDelivery } from './delivery-page.ts'
import {
  type EndpointQuestion,
  endpointDone,
  renderEndpoint,
  renderEndpointQuestion,
  titleOf,
} from './endpoint-page.ts'
import { deliveriesCounted, hoursShown } from './hours.ts'
import { type EndpointDraft, endpointsDone, renderEndpoints, showUrl } from './list-page.ts'
import { readReceivers } from './receivers.ts'

const path = '/webhooks'
const pathOf = ({ id }: EndpointRow) => `${path}/${id}`
const deliveriesShown = 20

const emptyDraft: EndpointDraft = {
  url: '',
  events: syncEventTypes,
  skipEmpty: false,
  pending: false,
  problems: {},
  message: null,
}

export function addWebhookRoutes(scope: FastifyInstance, context: PagesContext): void {
  addPage(scope, context, { path }, (turn) => {
    const typed = readKept(context, turn)
    return showList(
      context,
      turn,
      typed === null ? emptyDraft : { ...emptyDraft, ...readForm(typed) },
    )
  })
  const kept = ['url', 'events', 'skipEmpty', 'pending']
  addForm(scope, context, { path, isSensitive: true, isOnce: true, kept }, (turn) =>
    create(context, turn),
  )
  addEndpointPage(scope, context)
  addSwitches(scope, context)
  addQuestions(scope, context)
  addReplay(scope, context)
  addDeliveryPage(scope, context)
  addRange(scope, context)
}

async function showList(
  context: PagesContext,
  { reply, visit }: SignedInRequest,
  draft: EndpointDraft,
): Promise<FastifyReply> {
  const body = renderEndpoints({
    endpoints: await context.store.endpoints.list(visit.user.id),
    formToken: visit.formToken,
    draft,
    mayCreate: visit.session.isFresh,
    done: readDone(context, reply, endpointsDone),
  })
  return context.show(reply, visit, { title: 'Webhooks', body })
}

async function create(context: PagesContext, turn: FormTurn): Promise<FastifyReply> {
  const { form, reply, visit } = turn
  const given = readForm(form)
  try {
    const { createEndpoint } = context.webhooks
    const { row, secret } = await createEndpoint(toBy(visit), visit.user.id, given)
    context.shownOnce.put(reply, visit.session, pathOf(row), { id: row.id, secret })
    return reply.redirect(`${pathOf(row)}?done=created`, 303)
  } catch (error) {
    const { status, ...found } = toProblems(error, { url: 'The address', events: 'The choice' })
    reply.code(status)
    return showList(context, turn, { ...given, ...found })
  }
}

function readForm(form: URLSearchParams) {
  return {
    url: (form.get('url') ?? '').trim(),
    events: form.getAll('events'),
    skipEmpty: form.get('skipEmpty') !== null,
    pending: form.get('pending') !== null,
  }
}

/** The person's endpoint of a path; null for another's, which does not exist for them. */
async function findOwn(context: PagesContext, turn: SignedInRequest): Promise<EndpointRow | null> {
  const id = parseUuid<EndpointId>(turn.part('webhook'))
  const row = id === null ? null : await context.store.endpoints.find(id)
  return row !== null && row.userId === turn.visit.user.id ? row : null
}

function addEndpointPage(scope: FastifyInstance, context: PagesContext): void {
  addPage(scope, context, { path: '/webhooks/:webhook' }, async (turn) => {
    const endpoint = await findOwn(context, turn)
    if (endpoint === null) return turn.reply.redirect(`${path}?done=gone`, 303)
    return showEndpoint(context, turn, { endpoint, message: null })
  })
}

interface Shown {
  readonly endpoint: EndpointRow
  readonly message: string | null
  readonly rangeProblem?: string | null
}

/** What follows an action may change within seconds. */
const livelyNames: readonly string[] = ['tested', 'replayed', 'ranged', 'enabled']

async function showEndpoint(
  context: PagesContext,
  turn: SignedInRequest,
  { endpoint, message, rangeProblem = null }: Shown,
): Promise<FastifyReply> {
  const { store, clock } = context
  const { request, reply, visit } = turn
  const [zone, now] = [zoneOf(visit.user), clock.now()]
  const query = queryOf(request)
  const search = readSearch(query)
  const [rows, attempts, receivers] = await Promise.all([
    store.deliveries.list(endpoint.id, {
      after: readPosition(query),
      limit: deliveriesShown + 1,
      ...(search.state === null ? {} : { states: deliverySearches[search.state].states }),
      ...(search.from === '' ? {} : { since: startOf(search.from, zone) }),
    }),
    store.deliveries.listAttempts(endpoint.id, {
      since: now - hoursShown * hourMs,
      limit: deliveriesCounted,
    }),
    readReceivers(),
  ])
  const deliveries = rows.slice(0, deliveriesShown)
  const last = rows.length > deliveriesShown ? deliveries.at(-1) : undefined
  const shown = context.shownOnce.take(request, reply, visit.session, pathOf(endpoint))
  const done = readDone(context, reply, endpointDone)
  const isLively = done !== null && livelyNames.includes(done)
  if (isLively && deliveries.some(({ status }) => status === 'pending')) {
    const again = `${pathOf(endpoint)}?done=${done}`
    if (autoRefresh(turn, again)) rememberDone(context.cookies, reply, again)
  }
  const body = renderEndpoint({
    endpoint,
    deliveries,
    search,
    older: last === undefined ? null : toOlder(endpoint, search, last),
    attempts,
    receivers,
    rangeProblem,
    ...{ zone, now },
    formToken: visit.formToken,
    done,
    message,
    secret: shown === null ? null : shown.secret,
    test: await findTest(context, query, endpoint),
  })
  return context.show(reply, visit, { title: showUrl(endpoint), body })
}

const startOf = (day: string, zone: string): number =>
  Math.floor(Number(getZone(zone).startOfDay(day)) / 1000)

/** A day on which there can be deliveries, as every store takes it. */
const isDay = (text: string): boolean =>
  /^(?:19[7-9]\d|2\d{3})-/.test(text) && parseDay(text) !== null

/** What cannot be read is not searched for. */
function readSearch({ state, from }: Query): DeliverySearch {
  const states = Object.keys(deliverySearches) as (keyof typeof deliverySearches)[]
  return {
    state: states.find((one) => one === state) ?? null,
    from: typeof from === 'string' && isDay(from) ? from : '',
  }
}

function toOlder(endpoint: EndpointRow, { state, from }: DeliverySearch, last: DeliveryRow) {
  const query = new URLSearchParams({
    after: String(last.position),
    ...(state === null ? {} : { state }),
    ...(from === '' ? {} : { from }),
  })
  return `${pathOf(endpoint)}?${query}`
}

/** The place in the list after which deliveries are shown; null: from the newest. */
function readPosition({ after }: Query): number | null {
  return typeof after === 'string' && /^\d{1,15}$/.test(after) ? Number(after) : null
}

function addDeliveryPage(scope: FastifyInstance, context: PagesContext): void {
  const place = { path: '/webhooks/:webhook/deliveries/:delivery' }
  addPage(scope, context, place, async (turn) => {
    const { reply, visit } = turn
    const endpoint = await findOwn(context, turn)
    const id = parseUuid<DeliveryId>(turn.part('delivery'))
    const delivery = id === null ? null : await context.store.deliveries.find(id)
    if (endpoint === null || delivery?.endpointId !== endpoint.id) {
      return reply.redirect(`${path}?done=gone`, 303)
    }
    const payload = await context.webhooks.findPayload(toBy(visit), delivery.id)
    const { formToken } = visit
    const body = renderDelivery({
      ...{ endpoint, delivery, payload, formToken },
      zone: zoneOf(visit.user),
    })
    return context.show(reply, visit, { title: delivery.type, body })
  })
}

/** Whole days of the person's zone. */
function addRange(scope: FastifyInstance, context: PagesContext): void {
  const place = { path: '/webhooks/:webhook/replay', returnTo: path }
  addForm(scope, context, place, async (turn) => {
    const { form, reply, visit } = turn
    const endpoint = await findOwn(context, turn)
    if (endpoint === null) return reply.redirect(`${path}?done=gone`, 303)
    const [first, last] = [form.get('firstDay') ?? '', form.get('lastDay') ?? '']
    const refuse = (status: number, rangeProblem: string) => {
      reply.code(status)
      return showEndpoint(context, turn, { endpoint, message: null, rangeProblem })
    }
    if (!isDay(first) || !isDay(last) || last < first) {
      return refuse(400, 'Give a first and a last day, the first one not after the last one.')
    }
    const zone = zoneOf(visit.user)
    const range = {
      from: toIso(startOf(first, zone)),
      to: toIso(startOf(addDays(last, 1), zone)),
    }
    try {
      const sent = await context.webhooks.replayRange(toBy(visit), endpoint.id, range)
      return reply.redirect(`${pathOf(endpoint)}?done=${sent > 0 ? 'ranged' : 'empty'}`, 303)
    } catch (error) {
      if (!isFormRefusal(error)) throw error
      return refuse(error.status, [error.message, ...(error.details ?? [])].join('. '))
    }
  })
}

/** Forms that act at once. A refusal is shown on the page of the endpoint. */
function addSwitches(scope: FastifyInstance, context: PagesContext): void {
  const { webhooks } = context
  const verbs = [
    ['enable', 'enabled', webhooks.enableEndpoint],
    ['disable', 'disabled', webhooks.disableEndpoint],
  ] as const
  addTest(scope, context)
  for (const [verb, done, act] of verbs) {
    const place = { path: `/webhooks/:webhook/${verb}`, returnTo: path }
    addForm(scope, context, place, async (turn) => {
      const endpoint = await findOwn(context, turn)
      if (endpoint === null) return turn.reply.redirect(`${path}?done=gone`, 303)
      return attempt(context, turn, endpoint, async () => {
        await act(toBy(turn.visit), endpoint.id)
        return { done }
      })
    })
  }
}

/** The answer of the receiver is on the page that follows. */
function addTest(scope: FastifyInstance, context: PagesContext): void {
  const place = { path: '/webhooks/:webhook/test', returnTo: path }
  addForm(scope, context, place, async (turn) => {
    const endpoint = await findOwn(context, turn)
    if (endpoint === null) return turn.reply.redirect(`${path}?done=gone`, 303)
    return attempt(context, turn, endpoint, async () => {
      const { id } = await context.webhooks.testEndpoint(toBy(turn.visit), endpoint.id)
      return { done: 'tested', test: id }
    })
  })
}

/** The delivery of a test event that was sent just now (`?test=`); null: none was. */
async function findTest(
  { store }: PagesContext,
  { test }: Query,
  endpoint: EndpointRow,
): Promise<DeliveryRow | null> {
  const id = typeof test === 'string' ? parseUuid<DeliveryId>(test) : null
  const row = id === null ? null : await store.deliveries.find(id)
  return row?.endpointId === endpoint.id ? row : null
}

type Done = { readonly done: keyof typeof endpointDone }

/** Runs an action and leads back to the endpoint, which says what was done or why it was not. */
async function attempt(
  context: PagesContext,
  turn: SignedInRequest,
  endpoint: EndpointRow,
  act: () => Promise<Done | (Done & { readonly test: DeliveryId })>,
): Promise<FastifyReply> {
  try {
    const query = new URLSearchParams(await act())
    return turn.reply.redirect(`${pathOf(endpoint)}?${query}`, 303)
  } catch (error) {
    if (!isFormRefusal(error)) throw error
    turn.reply.code(error.status)
    return showEndpoint(context, turn, { endpoint, message: error.message })
  }
}

function addQuestions(scope: FastifyInstance, context: PagesContext): void {
  const mount = (
    question: EndpointQuestion,
    isSensitive: boolean,
    act: (turn: FormTurn, endpoint: EndpointRow) => Promise<string>,
  ) => {
    const place = { path: `/webhooks/:webhook/${question}`, returnTo: path, isSensitive }
    addQuestion(scope, context, place, {
      find: (turn) => findOwn(context, turn),
      title: titleOf(question),
      render: (endpoint, formToken) => renderEndpointQuestion(question, endpoint, formToken),
      act,
      keptAt: (endpoint) => `${pathOf(endpoint)}?done=kept`,
    })
  }
  mount('rotate', true, async ({ reply, visit }, endpoint) => {
    const { id } = endpoint
    const { secret, previousUntil } = await context.webhooks.rotateEndpoint(toBy(visit), id, {})
    context.shownOnce.put(reply, visit.session, pathOf(endpoint), { id, secret })
    return `${pathOf(endpoint)}?done=${previousUntil === null ? 'replaced' : 'rotated'}`
  })
  mount('remove', false, async ({ visit }, endpoint) => {
    await context.webhooks.removeEndpoint(toBy(visit), endpoint.id)
    return `${path}?done=removed`
  })
}

function addReplay(scope: FastifyInstance, context: PagesContext): void {
  const place = { path: '/webhooks/:webhook/deliveries/:delivery/replay', returnTo: path }
  addForm(scope, context, place, async (turn) => {
    const endpoint = await findOwn(context, turn)
    const id = parseUuid<DeliveryId>(turn.part('delivery'))
    if (endpoint === null || id === null) return turn.reply.redirect(`${path}?done=gone`, 303)
    return attempt(context, turn, endpoint, async () => {
      await context.webhooks.replayDelivery(toBy(turn.visit), id)
      return { done: 'replayed' }
    })
  })
}
