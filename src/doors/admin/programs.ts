/** Programs that read SimpleFIN in the admin API. A setup token appears only in the answer that makes it. */
import { toProgramStatus } from '#auth/programs/status.ts'
import { byOperator } from '#contract/actor.ts'
import { toIso, toIsoOrNull } from '#kernel/time.ts'
import { toSetupToken } from '../simplefin-access.ts'
import type { AdminHandlers } from './handler.ts'
import type { AdminDoorOptions } from './options.ts'
import { findUser } from './subjects.ts'
import type { programCalls } from './table/programs.ts'

export function makeProgramHandlers(
  options: AdminDoorOptions,
): AdminHandlers<keyof typeof programCalls> {
  const { store, actions, clock, describeService } = options
  return {
    async createProgram({ user, body }) {
      const { id: userId } = await findUser(options, user)
      const { row, secret } = await actions.createProgram(byOperator, userId, body)
      const setupToken = toSetupToken(describeService().baseUrl, secret)
      return { id: row.id, name: row.name, setupToken, expiresAt: toIso(row.setupUntil) }
    },
    async listPrograms({ user }) {
      const { id: userId } = await findUser(options, user)
      const now = clock.now()
      const rows = await store.programs.list(userId)
      return {
        data: rows.map((row) => ({
          id: row.id,
          name: row.name,
          status: toProgramStatus(row, now),
          connections: row.connections,
          createdAt: toIso(row.createdAt),
          claimedAt: toIsoOrNull(row.claimedAt),
          lastUsedAt: toIsoOrNull(row.lastUsedAt),
          revokedAt: toIsoOrNull(row.revokedAt),
          repeatedAt: toIsoOrNull(row.repeatedAt),
        })),
      }
    },
    async revokeProgram({ program }) {
      await actions.revokeProgram(byOperator, program)
      return undefined
    },
  }
}
