/** API keys in the admin API. A key appears only in the answer that creates it. */
import { toKeyStatus } from '#auth/keys.ts'
import { byOperator } from '#contract/actor.ts'
import { toIso, toIsoOrNull } from '#kernel/time.ts'
import type { AdminHandlers } from './handler.ts'
import type { AdminDoorOptions } from './options.ts'
import { findUser } from './subjects.ts'
import type { keyCalls } from './table/keys.ts'

export function makeKeyHandlers(options: AdminDoorOptions): AdminHandlers<keyof typeof keyCalls> {
  const { store, actions, clock } = options
  return {
    async createKey({ user, body }) {
      const { id: userId } = await findUser(options, user)
      const { row, key } = await actions.createKey(byOperator, userId, body)
      const { id, name, createdAt } = row
      return { id, name, key, createdAt: toIso(createdAt) }
    },
    async rotateKey({ key: keyId, body }) {
      const { row, key } = await actions.rotateKey(byOperator, keyId, body)
      const { id, name, formerUntil } = row
      return { id, name, key, formerUntil: toIsoOrNull(formerUntil) }
    },
    async listKeys({ user }) {
      const { id: userId } = await findUser(options, user)
      const now = clock.now()
      const rows = await store.keys.list(userId)
      return {
        data: rows.map((row) => ({
          id: row.id,
          name: row.name,
          prefix: row.prefix,
          status: toKeyStatus(row, now),
          createdAt: toIso(row.createdAt),
          expiresAt: toIsoOrNull(row.expiresAt),
          lastUsedAt: toIsoOrNull(row.lastUsedAt),
          revokedAt: toIsoOrNull(row.revokedAt),
          scopes: row.scopes,
          connectionIds: row.connectionIds,
          accountIds: row.accountIds,
          addresses: row.addresses,
          formerUntil: toIsoOrNull(row.formerUntil),
        })),
      }
    },
    async revokeKey({ key }) {
      await actions.revokeKey(byOperator, key)
      return undefined
    },
  }
}
