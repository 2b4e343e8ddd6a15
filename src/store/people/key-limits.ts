/**
 * The limits of narrow keys as columns. The hash of a narrow key is hashed once more, so that a process of an
 * earlier version, which knows no limits, finds no caller by it.
 */
import { createHash } from 'node:crypto'
import { type KeyScope, keyScopes } from '#contract/key-scopes.ts'
import type { AccountId, ConnectionId } from '#kernel/ids.ts'
import { type KeyLimits, type KeyRow, type NewKey, noLimits } from '../ports/keys.ts'

/** The columns as they are stored. */
export interface StoredLimits {
  readonly scopes: string | null
  readonly connectionIds: string | null
  readonly accountIds: string | null
  readonly addresses: string | null
}

export const limitColumns = [
  'api_keys.scopes',
  'api_keys.connection_ids as connectionIds',
  'api_keys.account_ids as accountIds',
  'api_keys.addresses',
] as const

/** What an answer to the owner of a key has. */
export const keyColumns = [
  'api_keys.id',
  'api_keys.user_id as userId',
  'api_keys.name',
  'api_keys.prefix',
  'api_keys.created_at as createdAt',
  'api_keys.expires_at as expiresAt',
  'api_keys.revoked_at as revokedAt',
  'api_keys.last_used_at as lastUsedAt',
  'api_keys.former_until as formerUntil',
  ...limitColumns,
] as const

/** The limits of a stored key; null in each: not limited in this. */
export function toKeyLimits(row: StoredLimits): KeyLimits {
  const { scopes, connectionIds, accountIds, addresses } = row
  return {
    // A scope of a later version is none of ours, and the key has one less.
    scopes: split(scopes)?.filter(isKeyScope) ?? null,
    connectionIds: split(connectionIds) as readonly ConnectionId[] | null,
    accountIds: split(accountIds) as readonly AccountId[] | null,
    addresses: split(addresses),
  }
}

/** Null: nothing is limited. */
export function toLimitsOrNull(row: StoredLimits): KeyLimits | null {
  const texts = [row.scopes, row.connectionIds, row.accountIds, row.addresses]
  return texts.every((text) => text === null) ? null : toKeyLimits(row)
}

/** The columns of a new key. */
export function toLimitValues(key: NewKey) {
  const { scopes, connectionIds, accountIds, addresses } = { ...noLimits, ...key }
  return {
    scopes: join(scopes),
    connection_ids: join(connectionIds),
    account_ids: join(accountIds),
    addresses: join(addresses),
  }
}

/** What `api_keys.hash` has for a narrow key. */
export function toNarrowHash(hash: Uint8Array): Uint8Array {
  return createHash('sha256').update('narrow key\n').update(hash).digest()
}

const join = (values: readonly string[] | null) => (values === null ? null : values.join(','))

function split(text: string | null): readonly string[] | null {
  return text === null ? null : text.split(',').filter((value) => value !== '')
}

function isKeyScope(text: string): text is KeyScope {
  return keyScopes.some((scope) => scope === text)
}

export type StoredKey = Omit<KeyRow, keyof StoredLimits> & StoredLimits

export const toKeyRow = (row: StoredKey): KeyRow => ({ ...row, ...toKeyLimits(row) })
