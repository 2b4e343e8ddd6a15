/** Invitations and reminders in the admin API: what operators ask people by mail. */

import { invitationsListed } from '#auth/sign-in/single-use.ts'
import { byOperator } from '#contract/actor.ts'
import { toIso } from '#kernel/time.ts'
import type { AdminHandlers } from './handler.ts'
import type { AdminDoorOptions } from './options.ts'
import { findUser } from './subjects.ts'
import type { invitationCalls } from './table/users.ts'

export function makeInvitationHandlers(
  options: AdminDoorOptions,
): AdminHandlers<keyof typeof invitationCalls> {
  const { store, actions } = options
  return {
    async inviteUser({ body }) {
      const { email, url, expiresAt } = await actions.invite(byOperator, body)
      return { email, url, expiresAt: toIso(expiresAt) }
    },
    async listInvitations() {
      const now = options.clock.now()
      const rows = await store.singleUse.listOpen('invitation', { now, limit: invitationsListed })
      return {
        data: rows.map(({ email, createdAt, expiresAt }) => ({
          email,
          createdAt: toIso(createdAt),
          expiresAt: toIso(expiresAt),
        })),
      }
    },
    async withdrawInvitation({ email }) {
      await actions.withdrawInvitation(byOperator, email)
      return undefined
    },
    async remindUser({ user }) {
      const { id } = await findUser(options, user)
      return actions.remind(byOperator, id)
    },
  }
}
