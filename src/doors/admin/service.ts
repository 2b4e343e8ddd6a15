/** The audit and the state of this installation in the admin API. Audit rows hold ids and names alone. */
import { parseUuid, type UserId } from '#kernel/ids.ts'
import { toIso } from '#kernel/time.ts'
import type { AdminDoorDeps } from './deps.ts'
import type { AdminHandlers } from './handler.ts'
import { toPage } from './paging.ts'
import { findUser } from './subjects.ts'
import type { auditCalls, serviceCalls } from './table/service.ts'

export function makeServiceHandlers(
  deps: AdminDoorDeps,
): AdminHandlers<keyof typeof auditCalls | keyof typeof serviceCalls> {
  return {
    async listAudit({ query: { user, limit, cursor } }) {
      const rows = await deps.store.auditLog.list({
        userId: user === undefined ? null : await toUserId(deps, user),
        after: cursor === undefined ? null : { at: cursor.order, id: cursor.id },
        limit: limit + 1,
      })
      return toPage(rows, limit, {
        row: ({ id, at, actor, address, action, userId, subject }) => ({
          id,
          at: toIso(at),
          actor,
          address,
          action,
          userId,
          subject,
        }),
        place: ({ at, id }) => ({ order: at, id }),
      })
    },
    showService: async () => deps.describeService(),
    // The examination itself succeeds whatever it finds.
    examineService: () => deps.examine(),
  }
}

/** The user need not exist: audit rows of a deletion outlive the deleted user. */
async function toUserId(deps: Pick<AdminDoorDeps, 'store'>, text: string): Promise<UserId> {
  return parseUuid<UserId>(text) ?? (await findUser(deps, text)).id
}
