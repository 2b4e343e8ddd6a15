/** Ends a link that brought no consent: its reason is stored for its page, audited and reported. */
import type { By, Person } from '#contract/actor.ts'
import type { LinkingFailure } from '#providers/linking.ts'
import type { LinkingRow } from '#store/ports/linkings.ts'
import type { ActionOptions } from '../options.ts'

interface FailedLinking {
  readonly attempt: LinkingRow
  readonly reason: LinkingFailure
  /** The provider's own code, for the log. */
  readonly code: string | null
}

export async function failLinking(
  options: ActionOptions,
  by: By<Person>,
  { attempt, reason, code }: FailedLinking,
): Promise<void> {
  const { provider, userId } = attempt
  options.report.linking({ provider, outcome: reason, code })
  await options.store.transact(async (tx) => {
    const at = options.clock.now()
    await tx.linkings.end(attempt.id, { at, outcome: reason })
    await tx.audit({
      at,
      actor: by.actor,
      action: 'connections.finish-linking',
      userId,
      details: { provider, outcome: reason },
    })
  })
}
