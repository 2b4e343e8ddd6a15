/** The user that a path of the admin API names, and the refusal for a connection that is not there. */
import { apiError } from '#contract/errors.ts'
import type { UserRow } from '#store/ports/users.ts'
import type { AdminDoorOptions } from './options.ts'

/** By id or e-mail address. `deleting`: also one who is being deleted. @throws ApiError `user_not_found`. */
export async function findUser(
  { store }: Pick<AdminDoorOptions, 'store'>,
  idOrEmail: string,
  options: { readonly deleting?: boolean } = {},
): Promise<UserRow> {
  // PostgreSQL refuses NUL in text; no address contains control characters.
  const user = /\p{Cc}/u.test(idOrEmail) ? null : await store.users.find(idOrEmail, options)
  if (user === null) throw apiError('user_not_found')
  return user
}

export function connectionNotFound() {
  return apiError('connection_not_found', {
    message: 'Connection not found; list them with `tributary connections list`',
  })
}
