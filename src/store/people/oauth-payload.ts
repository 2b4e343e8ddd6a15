/**
 * Encryption of OAuth payloads: sealed under the current key and bound to their row, so that a copy in
 * another row does not open. Only the authorization server interprets the content.
 */
import type { SealedPayload, Sealer } from '../seal.ts'

/** The two tables have separate purposes, so that a grant's payload never opens as a token's. */
export type OAuthTable = 'oauth_grants' | 'oauth_rows'

/** The columns of a payload sealed under the current key. */
export function sealOAuthPayload(
  sealer: Sealer,
  table: OAuthTable,
  id: Uint8Array,
  payload: string,
) {
  return {
    payload: sealer.seal(purpose(table), rowName(table, id), Buffer.from(payload, 'utf8')),
    payload_key: sealer.current,
  }
}

/** The decrypted payload. @throws SealError when it does not open. */
export function openOAuthPayload(
  sealer: Sealer,
  table: OAuthTable,
  id: Uint8Array,
  { payload, payloadKey }: SealedPayload,
): string {
  const opened = sealer.open(purpose(table), rowName(table, id), payload, payloadKey)
  return Buffer.from(opened).toString('utf8')
}

const purpose = (table: OAuthTable): string => table.replace('_', '-')

function rowName(table: OAuthTable, id: Uint8Array): string {
  return JSON.stringify([table, Buffer.from(id).toString('hex')])
}
