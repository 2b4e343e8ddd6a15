/**
 * The connections that a person chose for an agent on the consent page (reading R43). They are stored with
 * the facts of the grant, and repeated in each access token, so that a call needs no further look-up.
 */
import { apiError } from '#contract/errors.ts'
import { type ConnectionId, parseUuid, type UserId } from '#kernel/ids.ts'
import type { OAuthStore } from '#store/ports/oauth.ts'
import type { StoreRows } from '#store/ports/store.ts'
import { AgentFacts } from './agents.ts'
import { openRow } from './open-row.ts'
import { toRowId } from './row-id.ts'

interface FactsOptions {
  readonly store: Pick<OAuthStore, 'find'>
  readonly onDamaged: (error: Error) => void
}

/**
 * Null: every connection, later ones too. A grant whose facts are gone sees none: it was revoked meanwhile.
 * Undefined: they do not open, so nothing says what was allowed, and the agent has to be connected again.
 */
export async function findChosenConnections(
  { store, onDamaged }: FactsOptions,
  grantId: string,
): Promise<readonly ConnectionId[] | null | undefined> {
  let isDamaged = false
  const row = await openRow(
    () => store.find('Agent', toRowId('Agent', grantId)),
    (error) => {
      isDamaged = true
      onDamaged(error)
    },
  )
  if (row === null) return isDamaged ? undefined : []
  const { connections } = AgentFacts.parse(JSON.parse(row.payload))
  return connections && toConnectionIds(connections)
}

/** Text that is no id names nothing. */
export function toConnectionIds(texts: readonly string[]): readonly ConnectionId[] {
  return texts.flatMap((text) => parseUuid<ConnectionId>(text) ?? [])
}

/** What a person decided about their connections. */
interface ChosenConnections {
  /** Absent: no choice was made. */
  readonly chosen: readonly string[] | undefined
  /** What the page offered; one of them may be removed by now. */
  readonly offered: readonly string[]
}

/**
 * What is stored of a choice: null where it is everything that the person has and was offered, and where none
 * was made. What is not theirs grants nothing.
 * @throws ApiError `invalid_params` when nothing of theirs was chosen.
 */
export async function judgeChoice(
  tx: Pick<StoreRows, 'connections'>,
  userId: UserId,
  { chosen, offered }: ChosenConnections,
): Promise<readonly ConnectionId[] | null> {
  if (chosen === undefined) return null
  const own = (await tx.connections.list(userId)).map(({ id }) => id)
  const wanted = new Set(toConnectionIds(chosen))
  const kept = own.filter((id) => wanted.has(id))
  if (kept.length === 0) {
    const details = ['connections: must name at least one connection of theirs']
    throw apiError('invalid_params', { details })
  }
  const isEvery = kept.length === own.length && offered.every((id) => chosen.includes(id))
  return isEvery ? null : kept
}
