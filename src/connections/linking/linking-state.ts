/** What a person is told of a link that came back, from the store: the same in every process. */

import type { ConnectionId } from '#kernel/ids.ts'
import { linkingFailures } from '#providers/linking.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'
import type { LinkingRow } from '#store/ports/linkings.ts'
import type { ActionOptions } from '../options.ts'
import { type LinkingState, toLinkingName } from './linking-attempt.ts'

export async function readState(options: ActionOptions, id: Uint8Array): Promise<LinkingState> {
  const row = await options.store.linkings.find(id)
  if (row === null || row.usedAt === null) return { kind: 'over' }
  const { provider, connectionId, outcome } = row
  const attempt = toLinkingName(id)
  if (row.endedAt === null) {
    if (row.expiresAt <= options.clock.now()) return { kind: 'expired' }
    return { kind: 'waiting', attempt, provider, isUnread: outcome === 'unread' }
  }
  if (outcome === 'linked') return describeLinked(options, row)
  const reason = linkingFailures.find((name) => name === outcome)
  if (reason === undefined) return { kind: 'over' }
  return { kind: 'failed', attempt, provider, reason, connectionId }
}

async function describeLinked({ store }: ActionOptions, row: LinkingRow): Promise<LinkingState> {
  const all = row.loginId === null ? [] : await store.connections.listByLogin(row.loginId)
  const living = all.filter(({ status }) => status !== 'deleting')
  const isNew = ({ createdAt }: ConnectionRow) => createdAt >= row.createdAt
  const connections = selectMeant(
    row,
    living.map((one) => ({ ...one, isNew: isNew(one) })),
  )
  const isRenewal = connections.some(({ id }) => id === row.connectionId)
  return connections.length === 0 ? { kind: 'over' } : { kind: 'linked', connections, isRenewal }
}

interface Candidate {
  readonly id: ConnectionId
  readonly institutionId: string
  /** It was made by this link. */
  readonly isNew: boolean
}

/**
 * The consents that the person meant: the renewed connection; else those to the chosen institution; else
 * those that are new; else, where somebody gave a known consent again, all of them.
 */
export function selectMeant<One extends Candidate>(
  { connectionId, institutionId }: LinkingRow,
  adopted: readonly One[],
): readonly One[] {
  const renewed = adopted.filter(({ id }) => id === connectionId)
  if (renewed.length > 0) return renewed
  const chosen = adopted.filter((one) => one.institutionId === institutionId)
  if (chosen.length > 0) return chosen
  const made = adopted.filter(({ isNew }) => isNew)
  // The chosen institution is not among them: its consent has not arrived.
  return made.length > 0 || institutionId !== null ? made : adopted
}
