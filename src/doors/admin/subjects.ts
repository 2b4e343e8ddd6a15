/**
 * Whom a path of the admin API speaks of, and the record of what was done to them. An identifier that cannot be one is
 * simply not found.
 */
import { apiError } from '#contract/errors.ts'
import type { UserId } from '#kernel/ids.ts'
import { type ConnectionId, type KeyId, parseUuid } from '#kernel/ids.ts'
import type { UserRow } from '#store/port.ts'
import type { AdminDoorDeps } from './deps.ts'

/** By id or e-mail address. @throws ApiError `user_not_found`. */
export async function findUser(
  { store }: Pick<AdminDoorDeps, 'store'>,
  idOrEmail: string,
): Promise<UserRow> {
  // PostgreSQL refuses NUL in text; no address has control characters.
  const user = /\p{Cc}/u.test(idOrEmail) ? null : await store.users.find(idOrEmail)
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

export function connectionNotFound() {
  return apiError('connection_not_found', {
    message: 'Connection not found; list them with `tributary connections list`',
  })
}

/** Writes down that an operator did `action`; `subject` holds ids alone. */
export function recordAction(
  { store, clock }: Pick<AdminDoorDeps, 'store' | 'clock'>,
  action: string,
  entry: { readonly userId: UserId | null; readonly subject: string },
): Promise<void> {
  return store.audit({ at: clock.now(), actor: 'admin', action, ...entry })
}
