/** Which login of a person a link in a browser is added to. */
import { hash } from 'node:crypto'
import { apiError } from '#contract/errors.ts'
import type { Provider } from '#contract/resources.ts'
import type { LoginId, UserId } from '#kernel/ids.ts'
import type { Linking } from '#providers/linking.ts'
import { openLogin } from '#store/open-login.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'
import type { LoginRow } from '#store/ports/logins.ts'
import { toLogin } from '../ask-provider.ts'
import type { ActionOptions } from '../options.ts'

/** `row` null: its secret is damaged; a return that brings another one repairs it. */
export interface LinkingLogin {
  readonly id: LoginId
  readonly row: LoginRow | null
}

/** Stands in place of the person's id there, in a login that no connection uses (`left-logins.ts`). */
export const nameLeft = (secret: string): string => `left ${hash('sha256', secret)}`

export const isLeft = ({ upstreamUserId }: Pick<LoginRow, 'upstreamUserId'>): boolean =>
  upstreamUserId.startsWith('left ')

interface Wanted {
  readonly userId: UserId
  readonly provider: Provider
  readonly linking: Linking
  readonly renewed: ConnectionRow | null
}

/**
 * The login of the renewed connection, else those of the person at this provider that take consents, the
 * preferred ones first; none yet: an empty list.
 * @throws ApiError `invalid_params` for a connection by a key of the person's own.
 */
export async function findLinkingLogins(
  { store }: Pick<ActionOptions, 'store'>,
  { userId, provider, linking, renewed }: Wanted,
): Promise<readonly LinkingLogin[]> {
  const accepts = (row: LoginRow) => linking.accepts?.(toLogin(row)) ?? true
  if (renewed !== null) {
    const row = await openLogin(store, renewed.loginId)
    if (row === null || row === 'damaged') return [{ id: renewed.loginId, row: null }]
    if (accepts(row)) return [{ id: row.id, row }]
    const message = 'This connection was linked by a key of your own: link it again with a new key'
    throw apiError('invalid_params', { message })
  }
  const found: LinkingLogin[] = []
  for (const id of await store.logins.listIds(userId)) {
    const reference = await store.logins.find(id)
    if (reference?.provider !== provider || isLeft(reference)) continue
    const row = await openLogin(store, id)
    if (row !== null && row !== 'damaged' && accepts(row)) found.push({ id, row })
  }
  const { isPreferred } = linking
  if (isPreferred === undefined) return found
  const isFirst = ({ row }: LinkingLogin) => row !== null && isPreferred(toLogin(row))
  return found.toSorted((one, other) => Number(isFirst(other)) - Number(isFirst(one)))
}
