/** A person's connections: listed, shown one by one, refreshed, reconnected, removed. */
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { CheckResult } from '#connections/check-connection.ts'
import { readOverview, readRunDays, sortByNeed } from '#connections/overview.ts'
import { ApiError } from '#contract/errors.ts'
import { type ConnectionId, parseUuid } from '#kernel/ids.ts'
import { factsOf } from '#providers/all-facts.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'
import { autoRefresh } from '../auto-refresh.ts'
import type { PagesContext } from '../context.ts'
import { describeWait } from '../describe-wait.ts'
import { rememberDone } from '../done-notes.ts'
import {
  addForm,
  addPage,
  addQuestion,
  readDone,
  readKept,
  type SignedInRequest,
  toBy,
  toProblems,
  zoneOf,
} from '../signed-in.ts'
import { readFirstSteps } from '../welcome/first-steps.ts'
import { connectionDone, renderConnection } from './connection-page.ts'
import { nameOf, pathOf } from './facts.ts'
import { connectionsDone, renderConnections } from './list-page.ts'
import { renderRemoveConnection } from './question-page.ts'
import { addReconnect } from './reconnect.ts'

const path = '/connections'
const runsShown = 10

export function addConnectionRoutes(scope: FastifyInstance, context: PagesContext): void {
  addPage(scope, context, { path }, (turn) => showList(context, turn))
  addPage(scope, context, { path: '/connections/:connection' }, async (turn) => {
    const row = await findOwn(context, turn)
    if (row === null) return turn.reply.redirect(`${path}?done=gone`, 303)
    return showConnection(context, turn, { row, message: null })
  })
  addRefresh(scope, context)
  addRemoval(scope, context)
  addLabel(scope, context)
  addReconnect(scope, context, {
    find: (turn) => findOwn(context, turn),
    refuse: (turn, { status, ...refused }) => {
      turn.reply.code(status)
      return showConnection(context, turn, refused)
    },
  })
}

/** A connection of this person; another's, or one that is being removed, does not exist. */
async function findOwn(
  { store }: PagesContext,
  { visit, part }: SignedInRequest,
): Promise<ConnectionRow | null> {
  const id = parseUuid<ConnectionId>(part('connection'))
  return id === null ? null : store.connections.get(visit.user.id, id)
}

async function showList(context: PagesContext, turn: SignedInRequest): Promise<FastifyReply> {
  const { store, clock, connections } = context
  const { reply, visit } = turn
  const [all, unusedKeys] = await Promise.all([
    readOverview(store, visit.user.id),
    connections.listUnusedKeys(visit.user.id),
  ])
  const body = renderConnections({
    connections: sortByNeed(all),
    unusedKeys,
    zone: zoneOf(visit.user),
    now: clock.now(),
    done: readDone(context, reply, connectionsDone),
  })
  return context.show(reply, visit, { title: 'Connections', body })
}

interface Shown {
  readonly row: ConnectionRow
  readonly message: string | null
  readonly labelProblem?: string
}

async function showConnection(
  context: PagesContext,
  turn: SignedInRequest,
  { row, message, labelProblem }: Shown,
): Promise<FastifyReply> {
  const { store, clock, connections } = context
  const { reply, visit } = turn
  const { user, formToken } = visit
  const [zone, now] = [zoneOf(user), clock.now()]
  const [all, accounts, runs, days, renewal] = await Promise.all([
    readOverview(store, user.id),
    store.accounts.listByConnection(user.id, row.id),
    store.syncs.listRuns(row.id, runsShown),
    readRunDays(store, user.id, { now, zone }),
    connections.renewals.find(row),
  ])
  const overview = all.find((one) => one.row.id === row.id)
  // It was removed just now.
  if (overview === undefined) return reply.redirect(`${path}?done=gone`, 303)
  const done = readDone(context, reply, connectionDone)
  if (done === 'asked') {
    const again = `${pathOf(row)}?done=asked`
    if (autoRefresh(turn, again)) rememberDone(context.cookies, reply, again)
  }
  const steps = done === 'linked' ? await readFirstSteps(context, visit) : null
  const body = renderConnection({
    overview,
    steps,
    accounts: accounts.toSorted((one, other) => byName.compare(one.name, other.name)),
    runs,
    days,
    renewal,
    ...{ zone, now, formToken, message, done },
    label: readKept(context, turn)?.get('label') ?? row.label,
    labelProblem: labelProblem ?? null,
  })
  return context.show(reply, visit, {
    title: nameOf(row),
    body,
    formAction: context.linkingTargets,
  })
}

/** As the API orders accounts (reading R16b). */
const byName = new Intl.Collator('und')

function addRefresh(scope: FastifyInstance, context: PagesContext): void {
  const place = { path: '/connections/:connection/refresh', returnTo: path }
  addForm(scope, context, place, async (turn) => {
    const row = await findOwn(context, turn)
    if (row === null) return turn.reply.redirect(`${path}?done=gone`, 303)
    try {
      const result = await context.connections.checkConnection(toBy(turn.visit), row.id)
      const done = toDone(result)
      return turn.reply.redirect(`${pathOf(row)}?done=${done}`, 303)
    } catch (error) {
      const message = explainRefusal(error, row)
      turn.reply.code(error instanceof ApiError ? error.status : 500)
      return showConnection(context, turn, { row, message })
    }
  })
}

/** What the page says of the refresh. */
function toDone(result: CheckResult): keyof typeof connectionDone {
  if (result.kind !== 'checked') return result.kind === 'too_soon' ? 'soon' : 'asked'
  return result.row.status === 'active' ? 'checked' : 'lost'
}

/** @throws what is no refusal of the provider. */
function explainRefusal(error: unknown, { provider }: ConnectionRow): string {
  if (!(error instanceof ApiError) || error.entry === 'internal' || error.status === 404)
    throw error
  if (error.entry === 'too_many_connections') return error.message
  const { name } = factsOf(provider)
  return `${name} could not be asked now, so nothing was changed. Try again ${describeWait(error)}; the next sync tries by itself.`
}

function addLabel(scope: FastifyInstance, context: PagesContext): void {
  const place = { path: '/connections/:connection', kept: ['label'] }
  addForm(scope, context, place, async (turn) => {
    const row = await findOwn(context, turn)
    if (row === null) return turn.reply.redirect(`${path}?done=gone`, 303)
    try {
      const label = turn.form.get('label') ?? ''
      await context.connections.setLabel(toBy(turn.visit), row.id, { label })
      return turn.reply.redirect(`${pathOf(row)}?done=named`, 303)
    } catch (error) {
      const { status, problems } = toProblems(error, { label: 'The name' })
      turn.reply.code(status)
      const labelProblem = problems.label ?? 'The name cannot be used'
      return showConnection(context, turn, { row, message: null, labelProblem })
    }
  })
}

function addRemoval(scope: FastifyInstance, context: PagesContext): void {
  const { connections, store } = context
  const place = { path: '/connections/:connection/remove', returnTo: path }
  addQuestion(scope, context, place, {
    find: (turn) => findOwn(context, turn),
    title: 'Remove this connection?',
    async render(row, formToken) {
      const effect = await connections.findRemovalEffect(row)
      const accounts = await store.accounts.listByConnection(row.userId, row.id)
      const accountNames = accounts.map(({ name }) => name)
      return renderRemoveConnection({ row, accountNames, effect, formToken })
    },
    async act({ visit, form }, row) {
      const endsAtProvider = form.get('atProvider') === 'true'
      const done = await connections.removeConnection(toBy(visit), row.id, { endsAtProvider })
      return `${path}?done=${done}`
    },
    keptAt: (row) => `${pathOf(row)}?done=kept`,
  })
}
