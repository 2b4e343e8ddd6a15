/** The activity page: the audit of the signed-in person, newest first, page by page. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { parseUuid, type UserId } from '#kernel/ids.ts'
import type { PagesContext } from '../context.ts'
import { queryOf } from '../forms.ts'
import { readActivity } from '../settings/own-data.ts'
import { addPage, zoneOf } from '../signed-in.ts'
import { writeActivity } from './activity-file.ts'
import { type ActivityKind, activityKinds, renderActivity } from './activity-page.ts'
import type { Names } from './sentences.ts'

const path = '/activity'
const pageRows = 50

export function addActivityRoutes(scope: FastifyInstance, context: PagesContext): void {
  addPage(scope, context, { path }, async ({ visit, request, reply }) => {
    const { user } = visit
    const after = readPlace(request)
    const about = readAbout(request)
    const action = about === null ? undefined : activityKinds[about].prefix
    const page = { userId: user.id, action, after, limit: pageRows + 1 }
    const found = await context.store.auditLog.list(page)
    const rows = found.slice(0, pageRows)
    const last = rows.at(-1)
    const isMore = found.length > pageRows && last !== undefined
    const body = renderActivity({
      rows,
      names: await readNames(context, user.id),
      zone: zoneOf(user),
      isFirst: after === null,
      about,
      older: isMore
        ? `${path}?${about === null ? '' : `about=${about}&`}before=${last.at}.${last.id}`
        : null,
    })
    return context.show(reply, visit, { title: 'Activity', body })
  })
  addPage(scope, context, { path: `${path}/download` }, async ({ visit, reply }) => {
    const rows = await readActivity(context, visit.user)
    return reply
      .header('content-disposition', 'attachment; filename="tributary_activity.csv"')
      .type('text/csv; charset=utf-8')
      .send(writeActivity(rows, await readNames(context, visit.user.id)))
  })
}

/** What is looked for (`?about=`); null: everything. */
function readAbout(request: FastifyRequest): ActivityKind | null {
  const { about } = queryOf(request)
  const kinds = Object.keys(activityKinds) as ActivityKind[]
  return kinds.find((kind) => kind === about) ?? null
}

/** Where the previous page ended (`?before=`); null: the first page, also for what is no place. */
function readPlace(request: FastifyRequest): { at: number; id: string } | null {
  const { before } = queryOf(request)
  const text = typeof before === 'string' ? before : ''
  const [, at = '', uuid = ''] = /^(\d{1,15})\.([0-9a-f-]{36})$/.exec(text) ?? []
  const id = parseUuid(uuid)
  return id === null ? null : { at: Number(at), id }
}

/** What still exists under its name. */
async function readNames({ store, agents }: PagesContext, userId: UserId): Promise<Names> {
  const [connections, keys, endpoints, programs, connected] = await Promise.all([
    store.connections.list(userId),
    store.keys.list(userId),
    store.endpoints.list(userId),
    store.programs.list(userId),
    agents.list(userId),
  ])
  const toMap = <Row>(rows: readonly Row[], id: (row: Row) => string, name: (row: Row) => string) =>
    new Map(rows.map((row) => [id(row), name(row)]))
  const byConnection = toMap(
    connections,
    ({ id }) => id,
    ({ label, institutionName }) => label ?? institutionName,
  )
  const byKey = toMap(
    keys,
    ({ id }) => id,
    ({ name }) => name,
  )
  const byEndpoint = toMap(
    endpoints,
    ({ id }) => id,
    // The address is empty where it cannot be decrypted.
    ({ url, id }) => URL.parse(url)?.host ?? id,
  )
  const byProgram = toMap(
    programs,
    ({ id }) => id,
    ({ name }) => name,
  )
  const byAgent = toMap(
    connected,
    ({ clientId }) => clientId ?? '',
    ({ clientName }) => clientName,
  )
  return {
    connection: (id) => byConnection.get(id) ?? null,
    key: (id) => byKey.get(id) ?? null,
    endpoint: (id) => byEndpoint.get(id) ?? null,
    program: (id) => byProgram.get(id) ?? null,
    agent: (clientId) => byAgent.get(clientId) ?? null,
  }
}
