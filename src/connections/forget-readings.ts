/** Deletes what is kept of a login's data (reading R36): nothing of it outlives the login. */
import type { UserId } from '#kernel/ids.ts'
import type { LoginRow } from '#store/ports/logins.ts'
import type { ActionOptions } from './options.ts'

/**
 * @param login as it was; `damaged`: its secret does not open, so that all that is kept of its user goes.
 */
export async function forgetReadings(
  { readings }: Pick<ActionOptions, 'readings'>,
  userId: UserId,
  login: Pick<LoginRow, 'secret'> | 'damaged' | null,
): Promise<void> {
  if (login === 'damaged') await readings?.forget({ userId, secret: null })
  else if (login !== null && login.secret !== null) {
    await readings?.forget({ userId, secret: login.secret })
  }
}
