/**
 * What must be true of all events that a receiver got, however often the service was killed. A row is
 * reported as new once, in a version that it has had; each later telling is of a later version; the last one
 * is the present version; a version that a completed sync has read is reported. Rows that the bank no longer
 * shows may end at any version, or be unreported.
 */

import type { SyncedEvent } from '#tests/support/synced-event.ts'
import type { BankRow } from './bank.ts'

/** An accepted event, as the store names it, in the order in which it was to be sent to one endpoint. */
export interface Accepted {
  readonly eventId: string
  readonly connectionId: string
  readonly runId: string
  readonly chunk: number
  readonly totalChunks: number
}

/** Everything that is wrong, in words. `arrivals`: the first arrival of each event at one endpoint. */
export function findBrokenPromises(
  arrivals: readonly SyncedEvent[],
  accepted: readonly Accepted[],
  rows: readonly BankRow[],
): readonly string[] {
  return [
    ...judgeOrder(arrivals, accepted),
    ...judgeRuns(arrivals, accepted),
    ...judgeRows(arrivals, rows),
  ]
}

/** Exactly the accepted events came, those of each connection in the order of their acceptance. */
function judgeOrder(
  arrivals: readonly SyncedEvent[],
  accepted: readonly Accepted[],
): readonly string[] {
  const connections = new Map(accepted.map((one) => [one.eventId, one.connectionId]))
  const problems = arrivals
    .filter(({ id }) => !connections.has(id))
    .map(({ id }) => `${id} came and was never accepted`)
  for (const [connectionId, wanted] of Map.groupBy(accepted, (one) => one.connectionId)) {
    const came = arrivals.filter(({ id }) => connections.get(id) === connectionId)
    const ids = came.map(({ id }) => id)
    const lost = wanted.filter(({ eventId }) => !ids.includes(eventId))
    problems.push(...lost.map(({ eventId }) => `${eventId} was accepted and never came`))
    if (lost.length === 0 && ids.join() !== wanted.map(({ eventId }) => eventId).join())
      problems.push(`the events of ${connectionId} came in another order than they were accepted`)
  }
  return problems
}

/** The chunks of a run follow each other, are complete, and have together as many objects as they say. */
function judgeRuns(
  arrivals: readonly SyncedEvent[],
  accepted: readonly Accepted[],
): readonly string[] {
  const problems: string[] = []
  for (const [runId, chunks] of Map.groupBy(accepted, (one) => one.runId)) {
    const numbers = chunks.map(({ chunk }) => chunk).join()
    const total = chunks[0]?.totalChunks ?? 0
    const wanted = Array.from({ length: total }, (_, index) => index + 1).join()
    if (numbers !== wanted) problems.push(`run ${runId} has the chunks ${numbers} of ${total}`)
    const own = arrivals.filter(({ metadata }) => metadata.sync_run_id === runId)
    const count = (kind: 'new' | 'updated') =>
      own.reduce((sum, { data }) => sum + data[kind].length, 0)
    for (const { metadata } of own) {
      const isTrue =
        metadata.new_count === count('new') && metadata.updated_count === count('updated')
      if (!isTrue) problems.push(`run ${runId} does not have the objects that it counts`)
    }
  }
  return problems
}

interface Told {
  readonly kind: 'new' | 'updated'
  readonly version: number
}

function judgeRows(arrivals: readonly SyncedEvent[], rows: readonly BankRow[]): readonly string[] {
  const told = new Map<string, Told[]>(rows.map(({ id }) => [id, []]))
  const problems: string[] = []
  for (const { data } of arrivals) {
    for (const kind of ['new', 'updated'] as const) {
      for (const object of data[kind]) {
        const version = readVersion(object)
        const list = told.get(object.id)
        if (version === null || list === undefined) problems.push(`no such row: ${object.id}`)
        else list.push({ kind, version })
      }
    }
  }
  for (const row of rows) problems.push(...judgeRow(row, told.get(row.id) ?? []))
  return problems
}

function judgeRow(row: BankRow, told: readonly Told[]): readonly string[] {
  const problems: string[] = []
  const story = told.map(({ kind, version }) => `${kind} ${version}`).join(', ')
  const say = (what: string) => problems.push(`${row.id}: ${what} (told: ${story})`)
  const news = told.filter(({ kind }) => kind === 'new').length
  if (news > 1) say('told as new more than once')
  if (told.length > 0 && told[0]?.kind !== 'new') say('told as updated before it was told as new')
  const versions = told.map(({ version }) => version)
  if (versions.some((version, index) => version <= (versions[index - 1] ?? 0)))
    say('told again without a change, or in an older version')
  if (versions.some((version) => version > row.version)) say('told in a version it never had')
  if (row.isThere && versions.at(-1) !== row.version)
    say(`its present version ${row.version} was not told`)
  for (const version of row.owed)
    if (!versions.includes(version)) say(`version ${version} was read and not told`)
  return problems
}

/** Of the description and the amount, which are of one version; null: they are not. */
function readVersion(object: SyncedEvent['data']['new'][number]): number | null {
  if (object.object !== 'transaction') return null
  const version = Number(/^row-\d+-\d+ version (\d+)$/.exec(object.description)?.[1])
  return object.amount === -100 * version ? version : null
}
