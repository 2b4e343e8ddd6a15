/** The user, key or connection that a path of the admin API names. A malformed identifier is answered as not found. */
import { apiError } from '#contract/errors.ts'
import {
  type ConnectionId,
  type DeliveryId,
  type EndpointId,
  type KeyId,
  parseUuid,
} from '#kernel/ids.ts'
import type { UserRow } from '#store/ports/users.ts'
import type { AdminDoorDeps } from './deps.ts'

/** By id or e-mail address. `deleting`: also finds a user who is being deleted. @throws ApiError `user_not_found`. */
export async function findUser(
  { store }: Pick<AdminDoorDeps, 'store'>,
  idOrEmail: string,
  options: { readonly deleting?: boolean } = {},
): Promise<UserRow> {
  // PostgreSQL refuses NUL in text; no address contains control characters.
  const user = /\p{Cc}/u.test(idOrEmail) ? null : await store.users.find(idOrEmail, options)
  if (user === null) throw apiError('user_not_found')
  return user
}

/** @throws ApiError `key_not_found`. */
export function readKeyId(text: string): KeyId {
  const id = parseUuid<KeyId>(text)
  if (id === null) throw apiError('key_not_found')
  return id
}

/** @throws ApiError `connection_not_found`. */
export function readConnectionId(text: string): ConnectionId {
  const id = parseUuid<ConnectionId>(text)
  if (id === null) throw connectionNotFound()
  return id
}

/** @throws ApiError `webhook_not_found`. */
export function readEndpointId(text: string): EndpointId {
  const id = parseUuid<EndpointId>(text)
  if (id === null) throw apiError('webhook_not_found')
  return id
}

/** @throws ApiError `delivery_not_found`. */
export function readDeliveryId(text: string): DeliveryId {
  const id = parseUuid<DeliveryId>(text)
  if (id === null) throw apiError('delivery_not_found')
  return id
}

export function connectionNotFound() {
  return apiError('connection_not_found', {
    message: 'Connection not found; list them with `tributary connections list`',
  })
}
