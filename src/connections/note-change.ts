/**
 * Records an operator's change at a provider of the sandbox: cached answers of the affected people are not served
 * again, and connections that now need a second factor are marked (reading R20b: no provider reports one on an
 * existing connection). The change and its audit row are one transaction.
 */
import { z } from 'zod'
import type { By, Operator, System } from '#contract/actor.ts'
import { oneOf, parseInput } from '#contract/input.ts'
import { type ConnectionId, parseUuid, type UserId } from '#kernel/ids.ts'
import { sandboxActions } from '#store/ports/audit.ts'
import type { ActionDeps } from './deps.ts'

/** More than the connections that a sandbox has. */
const maxIds = 10_000

const idOf = <Id extends UserId | ConnectionId>() =>
  z.string('must be text').transform((text, context) => {
    const id = parseUuid<Id>(text)
    if (id !== null) return id
    context.addIssue('must be ids')
    return z.NEVER
  })

const ChangeInput = z.strictObject({
  action: oneOf(sandboxActions),
  /** Ids and names only. */
  subject: z.string('must be text').regex(/^[^\p{Cc}]{1,200}$/u, 'must have 1 to 200 characters'),
  /** Users whose cached answers are no longer valid. */
  outdated: z.array(idOf<UserId>()).max(maxIds),
  /** Connections that need a second factor from now on; `revoked` ones stay as they are. */
  challenged: z.array(idOf<ConnectionId>()).max(maxIds),
})

/** @throws ApiError `invalid_params`. */
export type NoteChange = (by: By<Operator | System>, input: unknown) => Promise<void>

/** Makes the action. */
export function makeNoteChange({ store, clock }: ActionDeps): NoteChange {
  return async ({ actor }, raw) => {
    const { action, subject, outdated, challenged } = parseInput(ChangeInput, raw)
    await store.transact(async (tx) => {
      for (const userId of outdated) await tx.users.outdate(userId)
      for (const id of challenged) {
        const row = await tx.connections.find(id)
        if (row === null || row.status === 'revoked') continue
        await tx.connections.setStatus(id, 'pending_mfa')
      }
      await tx.audit({ at: clock.now(), actor, action, userId: null, subject })
    })
  }
}
