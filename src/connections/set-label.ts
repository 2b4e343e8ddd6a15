/** A person's own name for a connection. Pages show it first; programs and agents do not get it. */
import { z } from 'zod'
import { type By, mayActFor, type Person } from '#contract/actor.ts'
import { apiError } from '#contract/errors.ts'
import { parseInput } from '#contract/input.ts'
import type { ConnectionId } from '#kernel/ids.ts'
import type { ActionOptions } from './options.ts'

const problem = 'must have at most 60 characters, no control characters'

const LabelInput = z.strictObject({
  label: z
    .string('must be text')
    .trim()
    .regex(/^[^\u0000-\u001f\u007f-\u009f]{0,60}$/u, problem)
    .refine((text) => text.isWellFormed(), problem),
})

/** An empty label removes it. @throws ApiError `connection_not_found`, `invalid_params`. */
export type SetLabel = (by: By<Person>, id: ConnectionId, input: unknown) => Promise<void>

export function makeSetLabel({ store, clock }: Pick<ActionOptions, 'store' | 'clock'>): SetLabel {
  return async (by, id, raw) => {
    const row = await store.connections.find(id)
    if (row === null || row.status === 'deleting' || !mayActFor(by, row.userId)) {
      throw apiError('connection_not_found')
    }
    const { label: text } = parseInput(LabelInput, raw)
    const label = text === '' ? null : text
    if (label === row.label) return
    const { userId } = row
    await store.transact(async (tx) => {
      if (!(await tx.connections.setLabel(userId, id, label)))
        throw apiError('connection_not_found')
      await tx.audit({
        at: clock.now(),
        actor: by.actor,
        action: 'connections.set-label',
        userId,
        details: { connectionId: id },
      })
    })
  }
}
