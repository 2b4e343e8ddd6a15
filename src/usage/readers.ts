/**
 * Who made a user's counted requests: their keys, agents, SimpleFIN programs, and themselves on the pages.
 * Those that no longer exist are one, whatever their number.
 */
import { ownBucket, toGrantBucket } from '#auth/caller.ts'
import type { Agents } from '#auth/oauth/port.ts'
import type { UserId } from '#kernel/ids.ts'
import type { Store } from '#store/ports/store.ts'
import { type ReaderCount, readersBefore } from '#store/ports/usage.ts'

export interface NamedReader {
  /**
   * `dashboard`: the person on the pages; `ended`: those that are not listed any more, or beyond what is
   * counted apart; `before`: from before they were counted apart.
   */
  readonly kind: 'key' | 'agent' | 'program' | 'dashboard' | 'ended' | 'before'
  /** Null for the last three kinds, as its name. */
  readonly id: string | null
  readonly name: string | null
}

export interface ReaderNames {
  readonly store: {
    readonly keys: Pick<Store['keys'], 'list'>
    readonly programs: Pick<Store['programs'], 'list'>
  }
  readonly agents: Pick<Agents, 'list'>
}

/** Groups the counts of one user by who they are of, in no order. */
export async function nameReaders(
  { store, agents }: ReaderNames,
  userId: UserId,
  counts: readonly ReaderCount[],
): Promise<readonly { readonly reader: NamedReader; readonly counts: readonly ReaderCount[] }[]> {
  if (counts.length === 0) return []
  const [keys, programs, connected] = await Promise.all([
    store.keys.list(userId),
    store.programs.list(userId),
    agents.list(userId),
  ])
  const known = new Map<string, NamedReader>([
    [ownBucket, { kind: 'dashboard', id: null, name: null }],
    [readersBefore, { kind: 'before', id: null, name: null }],
    ...keys.map(({ id, name }) => [id, { kind: 'key', id, name }] as const),
    ...programs.map(({ id, name }) => [id, { kind: 'program', id, name }] as const),
    ...connected.map(
      ({ grantId: id, clientName: name }) =>
        [toGrantBucket(id), { kind: 'agent', id, name }] as const,
    ),
  ])
  const groups = Map.groupBy(counts, ({ reader }) => known.get(reader) ?? ended)
  return [...groups].map(([reader, own]) => ({ reader, counts: own }))
}

const ended: NamedReader = { kind: 'ended', id: null, name: null }
