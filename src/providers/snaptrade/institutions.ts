/**
 * The brokerages that SnapTrade links to. Ours is the id that connections have too; the portal takes the
 * slug. Logos are not used: no page of ours asks another host.
 */
import type { Institution } from '../linking.ts'
import type { CallContext } from '../port.ts'
import type { SnapTradeClient } from './client.ts'
import { fail } from './failures.ts'
import type { Asker } from './keys.ts'
import { WireChoice, WireChoices } from './wire.ts'

export interface Choices {
  readonly client: SnapTradeClient
  /** The commercial key alone. */
  readonly app: Asker
  /** Told of a brokerage that cannot be read. */
  readonly onOddity: (what: string) => void
}

const maxName = 200

/** Sorted by name. */
export async function listInstitutions(
  choices: Choices,
  call: CallContext,
): Promise<readonly Institution[]> {
  return (await readChoices(choices, call))
    .map(toInstitution)
    .sort((left, right) => left.name.localeCompare(right.name, 'en'))
}

/** The slug of a brokerage. Throws `rejected` for an unknown one. */
export async function findSlug(choices: Choices, id: string, call: CallContext): Promise<string> {
  const found = (await readChoices(choices, call)).find((choice) => choice.id === id)
  if (found !== undefined) return found.slug
  throw fail({ kind: 'rejected', status: 404, detail: 'no such institution' })
}

async function readChoices(
  { client, app, onOddity }: Choices,
  call: CallContext,
): Promise<readonly WireChoice[]> {
  const rows = await client.fetchParsed(WireChoices, { route: '/brokerages' }, app, call)
  return rows.flatMap((row) => {
    const choice = WireChoice.safeParse(row)
    if (choice.success) return [choice.data]
    onOddity('unreadable brokerage')
    return []
  })
}

function toInstitution(choice: WireChoice): Institution {
  const { id, slug, enabled, maintenance_mode: isInMaintenance } = choice
  const name = [choice.display_name, choice.name, slug].find((text) => text?.trim()) ?? slug
  return {
    id,
    name: name.slice(0, maxName).toWellFormed(),
    health: toHealth(choice),
    isOpen: enabled !== false && isInMaintenance !== true,
  }
}

function toHealth({ maintenance_mode, is_degraded }: WireChoice): Institution['health'] {
  if (maintenance_mode === true) return 'outage'
  if (is_degraded === true) return 'degraded'
  return maintenance_mode === false || is_degraded === false ? 'healthy' : null
}
