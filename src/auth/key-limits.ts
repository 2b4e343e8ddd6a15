/**
 * What narrows a key (reading R43), as its owner gives it: each list names at least one thing, so that a
 * limit which names nothing is an error and not a key that sees nothing, or everything.
 */
import { z } from 'zod'
import { oneOf } from '#contract/input.ts'
import { keyScopes } from '#contract/key-scopes.ts'
import type { UserId } from '#kernel/ids.ts'
import { parseNetwork } from '#kernel/networks.ts'
import type { KeyLimits } from '#store/ports/keys.ts'
import type { StoreRows } from '#store/ports/store.ts'
import { findOnConnections, findOwnConnections } from './own-rows.ts'

const maxIds = 500
const maxAddresses = 50

const idList = (what: string) =>
  z
    .array(z.string('must be text'), 'must be a list of ids')
    .min(1, `must name at least one ${what}; leave it out for every ${what}`)
    .max(maxIds, `must name at most ${maxIds}`)
    .optional()

const address = z
  .string('must be text')
  .trim()
  .toLowerCase()
  .max(100, 'must be an IP address or a network in CIDR notation, e.g. 203.0.113.0/24')
  .refine((text) => parseNetwork(text) !== null, {
    error: 'must be an IP address or a network in CIDR notation, e.g. 203.0.113.0/24',
  })

/** Absent: no limit of this kind. */
export const keyLimitFields = {
  scopes: z
    .array(oneOf(keyScopes), 'must be a list of scopes')
    .min(1, 'must name at least one scope; leave it out for all')
    .max(maxIds, `must name at most ${maxIds}`)
    .optional(),
  connectionIds: idList('connection'),
  accountIds: idList('account'),
  addresses: z
    .array(address, 'must be a list of addresses')
    .min(1, 'must name at least one address; leave it out for any address')
    .max(maxAddresses, `must name at most ${maxAddresses}`)
    .optional(),
}

const KeyLimitsInput = z.strictObject(keyLimitFields)

/** @throws ApiError `invalid_params` for connections and accounts that are not the user's. */
export async function findKeyLimits(
  tx: StoreRows,
  userId: UserId,
  given: z.output<typeof KeyLimitsInput>,
): Promise<KeyLimits> {
  const { scopes, connectionIds, accountIds, addresses } = given
  const connections =
    connectionIds === undefined
      ? null
      : await findOwnConnections(tx, userId, { field: 'connectionIds', ids: connectionIds })
  return {
    scopes: scopes === undefined ? null : keyScopes.filter((scope) => scopes.includes(scope)),
    connectionIds: connections,
    accountIds:
      accountIds === undefined
        ? null
        : await findOnConnections(tx, userId, {
            field: 'accountIds',
            ids: accountIds,
            connections,
          }),
    addresses: addresses === undefined ? null : [...new Set(addresses)],
  }
}
