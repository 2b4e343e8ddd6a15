/** The audit and the state of this installation in the admin API. Audit rows hold ids and names alone. */
import { parseUuid, type UserId } from '#kernel/ids.ts'
import { toIso } from '#kernel/time.ts'
import type { AdminHandlers } from './handler.ts'
import type { AdminDoorOptions } from './options.ts'
import { toPage } from './paging.ts'
import { findUser } from './subjects.ts'
import type { auditCalls, serviceCalls } from './table/service.ts'

export function makeServiceHandlers(
  options: AdminDoorOptions,
): AdminHandlers<keyof typeof auditCalls | keyof typeof serviceCalls> {
  return {
    async listAudit({ query: { user, action, limit, cursor } }) {
      const rows = await options.store.auditLog.list({
        userId: user === undefined ? null : await toUserId(options, user),
        action,
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
    listQueues: async () => ({ data: await options.readQueues() }),
    listProviders: async () => ({ data: await options.readProviders() }),
    showService: async () => options.describeService(),
    // The examination itself succeeds whatever it finds.
    examineService: () => options.examine(),
  }
}

/** The user need not exist: audit rows of a deletion outlive the deleted user. */
async function toUserId(options: Pick<AdminDoorOptions, 'store'>, text: string): Promise<UserId> {
  return parseUuid<UserId>(text) ?? (await findUser(options, text)).id
}
