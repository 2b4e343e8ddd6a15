/**
 * Records an operator's change at a provider of the sandbox: cached answers of the affected people are not
 * served again, and connections that now need a second factor are marked (reading R20b: no provider reports
 * one on an existing connection). The change and its audit row are one transaction.
 */
import { z } from 'zod'
import type { By, Operator, System } from '#contract/actor.ts'
import { parseInput } from '#contract/input.ts'
import { type ConnectionId, parseUuid, type UserId } from '#kernel/ids.ts'
import type { ActionOptions } from './options.ts'

/** More than the connections that a sandbox has. */
const maxIds = 10_000

const idOf = <Id extends UserId | ConnectionId>() =>
  z.string('must be text').transform((text, context) => {
    const id = parseUuid<Id>(text)
    if (id !== null) return id
    context.addIssue('must be ids')
    return z.NEVER
  })

const name = z.string('must be text').regex(/^[^\p{Cc}]{1,200}$/u, 'must have 1 to 200 characters')

const ChangeInput = z.strictObject({
  /** Named by the sandbox. */
  action: z.string('must be text').regex(/^sandbox\.[a-z.-]{1,50}$/, 'must begin with `sandbox.`'),
  /** Ids, names and numbers only. */
  details: z.record(name, z.union([name, z.int(), z.array(name).max(maxIds)], 'must be names')),
  /** Users whose cached answers are no longer valid. */
  outdated: z.array(idOf<UserId>()).max(maxIds),
  /** Connections that need a second factor from now on; `revoked` ones stay as they are. */
  challenged: z.array(idOf<ConnectionId>()).max(maxIds),
})

/** @throws ApiError `invalid_params`. */
export type NoteChange = (by: By<Operator | System>, input: unknown) => Promise<void>

export function makeNoteChange({ store, clock }: ActionOptions): NoteChange {
  return async ({ actor }, raw) => {
    const { action, details, outdated, challenged } = parseInput(ChangeInput, raw)
    await store.transact(async (tx) => {
      for (const userId of outdated) await tx.users.outdate(userId)
      for (const id of challenged) {
        const row = await tx.connections.find(id)
        if (row === null || row.status === 'revoked') continue
        await tx.connections.setStatus(id, 'pending_mfa')
      }
      const subject = Object.values(details).flat().join(' ')
      const entry = { at: clock.now(), actor, userId: null, action, details, subject }
      await tx.auditExtension(entry)
    })
  }
}
