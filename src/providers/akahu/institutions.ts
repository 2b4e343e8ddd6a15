/**
 * The institutions that Akahu links to, for a person to choose from; asked with a full app's own credentials.
 */
import { z } from 'zod'
import type { Institution } from '../linking.ts'
import type { CallContext } from '../port.ts'
import { readBody } from './accounts.ts'
import type { AkahuClient } from './client.ts'

export const institutionPattern = /^conn_[\w-]{1,100}$/

const WireConnection = z.object({
  _id: z.string().regex(institutionPattern),
  name: z.string().min(1).max(200),
  new_connections_enabled: z.boolean().nullish(),
})
/** More than there are banks in New Zealand. */
const ConnectionsBody = z.object({
  success: z.literal(true),
  items: z.array(WireConnection).max(1_000),
})

/** Sorted by name. Akahu does not tell their health. No logos: no page of ours asks another host. */
export async function listInstitutions(
  client: AkahuClient,
  call: CallContext,
): Promise<readonly Institution[]> {
  const request = { method: 'GET', route: '/connections', target: '/connections' } as const
  const { items } = readBody(ConnectionsBody, await client.asApp(request, call))
  return items
    .map(({ _id, name, new_connections_enabled: isOpen }) => ({
      id: _id,
      name,
      health: null,
      isOpen: isOpen !== false,
    }))
    .sort((left, right) => left.name.localeCompare(right.name, 'en'))
}
