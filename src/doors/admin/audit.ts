/** `GET /admin/audit`: who changed what and for whom, newest first, in pages. It contains only ids and names. */
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { parseUuid, type UserId } from '#kernel/ids.ts'
import { toIso } from '#kernel/time.ts'
import type { AuditRow } from '#store/ports/audit.ts'
import type { AdminDoorDeps } from './deps.ts'
import { pageCursor, pageRows, parseQuery, toPage } from './paging.ts'
import { findUser } from './subjects.ts'

const AuditQuery = z.strictObject({
  user: z.string('must be given only once').min(1, 'must not be empty').optional(),
  limit: pageRows(100),
  cursor: pageCursor,
})

export function addAuditRoute(admin: FastifyInstance, deps: Pick<AdminDoorDeps, 'store'>): void {
  admin.get('/audit', async (request) => {
    const { user, limit, cursor } = parseQuery(AuditQuery, request.query)
    const rows = await deps.store.auditLog.list({
      userId: user === undefined ? null : await toUserId(deps, user),
      after: cursor === undefined ? null : { at: cursor.order, id: cursor.id },
      limit: limit + 1,
    })
    return toPage(rows, limit, { row: toEntry, place: ({ at, id }) => ({ order: at, id }) })
  })
}

/** The user need not exist: audit rows of a deletion outlive the deleted user. */
async function toUserId(deps: Pick<AdminDoorDeps, 'store'>, text: string): Promise<UserId> {
  return parseUuid<UserId>(text) ?? (await findUser(deps, text)).id
}

function toEntry({ id, at, actor, address, action, userId, subject }: AuditRow) {
  return { id, at: toIso(at), actor, address, action, userId, subject }
}
