/** Reads a login whose secret may be damaged: the row was moved or its bytes were changed. */
import type { LoginId } from '#kernel/ids.ts'
import type { LoginRow } from './ports/logins.ts'
import type { StoreRows } from './ports/store.ts'
import { SealError } from './seal.ts'

/** Null: there is no such login. `damaged`: its secret does not open, so no provider is called with it. */
export async function openLogin(
  { logins }: Pick<StoreRows, 'logins'>,
  id: LoginId,
): Promise<LoginRow | 'damaged' | null> {
  try {
    return await logins.get(id)
  } catch (error) {
    if (error instanceof SealError) return 'damaged'
    throw error
  }
}
