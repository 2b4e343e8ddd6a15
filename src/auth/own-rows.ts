/** Ids that an owner names for what may see less than everything: what is not theirs does not exist. */
import { apiError } from '#contract/errors.ts'
import { type AccountId, type ConnectionId, parseUuid, type UserId } from '#kernel/ids.ts'
import type { StoreRows } from '#store/ports/store.ts'

/**
 * The connections of a user with these ids.
 * @throws ApiError `invalid_params`, with the name of the field.
 */
export async function findOwnConnections(
  tx: StoreRows,
  userId: UserId,
  { field, ids: texts }: { readonly field: string; readonly ids: readonly string[] },
): Promise<readonly ConnectionId[]> {
  const own = new Set((await tx.connections.list(userId)).map(({ id }) => id))
  const found = texts.map((text) => {
    const id = parseUuid<ConnectionId>(text)
    if (id === null || !own.has(id)) {
      throw apiError('invalid_params', {
        details: [`${field}: ${text} is no connection of theirs`],
      })
    }
    return id
  })
  return [...new Set(found)]
}

/**
 * The accounts of a user with these ids.
 * @param connections that they must belong to; null: any of the user.
 * @throws ApiError `invalid_params`, with the name of the field.
 */
export async function findOnConnections(
  tx: StoreRows,
  userId: UserId,
  asked: {
    readonly field: string
    readonly ids: readonly string[]
    readonly connections: readonly ConnectionId[] | null
  },
): Promise<readonly AccountId[]> {
  const { field, ids: texts, connections } = asked
  const rows = await tx.accounts.list(userId)
  const own = new Map(rows.map(({ id, connectionId }) => [id, connectionId]))
  const found = texts.map((text) => {
    const id = parseUuid<AccountId>(text)
    const connectionId = id === null ? undefined : own.get(id)
    if (id === null || connectionId === undefined) {
      throw apiError('invalid_params', { details: [`${field}: ${text} is no account of theirs`] })
    }
    if (connections?.includes(connectionId) === false) {
      const line = `${field}: ${text} is on none of the chosen connections`
      throw apiError('invalid_params', { details: [line] })
    }
    return id
  })
  return [...new Set(found)]
}
