/**
 * Payloads of OAuth rows as they lie at rest: sealed under the current key, bound to their row, so that one copied to
 * another row does not open. What stands in them is the authorization server's business.
 */
import type { Sealer } from '../seal.ts'

/** The two tables; each has its own purpose, so that a grant's payload never opens as a token's. */
export type OAuthTable = 'oauth_grants' | 'oauth_rows'

/** The columns of a payload under the current key. */
export function sealPayload(sealer: Sealer, table: OAuthTable, id: Uint8Array, payload: string) {
  return {
    payload: sealer.seal(purpose(table), rowName(table, id), Buffer.from(payload, 'utf8')),
    payload_key: sealer.current,
  }
}

/** The payload in the clear. @throws SealError when it does not open. */
export function openPayload(
  sealer: Sealer,
  table: OAuthTable,
  id: Uint8Array,
  sealed: Uint8Array,
): string {
  return Buffer.from(sealer.open(purpose(table), rowName(table, id), sealed)).toString('utf8')
}

const purpose = (table: OAuthTable): string => table.replace('_', '-')

function rowName(table: OAuthTable, id: Uint8Array): string {
  return JSON.stringify([table, Buffer.from(id).toString('hex')])
}
