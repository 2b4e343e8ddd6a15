/**
 * What a link opened at a provider and no connection uses: a session or token that is not judged yet
 * (reading R38), and the session that a renewal took the place of. Each is stored as a login of its own
 * before anything else, and is deleted once it has ended there. Where that fails the sweep tries again
 * (`end-abandoned.ts`), as it does an hour after this process has died.
 */
import type { By } from '#contract/actor.ts'
import { apiError } from '#contract/errors.ts'
import { OwnerGoneError } from '#store/failure.ts'
import type { NewLogin } from '#store/ports/logins.ts'
import type { StoreRows } from '#store/ports/store.ts'
import type { AskOptions } from '../ask-provider.ts'
import { endEmptyLogin, endUnsavedLogin } from '../end-consent.ts'
import type { ActionOptions } from '../options.ts'
import { type ClaimedLogin, saveClaimed, saveClaimedIn } from './claimed-login.ts'
import { nameLeft } from './linking-login.ts'

/** Whose it is, and the secret that ends it. */
export interface LeftBehind extends Pick<NewLogin, 'userId' | 'provider'> {
  readonly secret: string
}

const toNewLogin = (left: LeftBehind): NewLogin => {
  return { ...left, upstreamUserId: nameLeft(left.secret), isOurs: true }
}

/** @throws ApiError `user_not_found`, once it has been ended, for a user who was deleted meanwhile. */
export async function keepLeft(
  options: ActionOptions,
  by: By,
  left: LeftBehind,
): Promise<ClaimedLogin> {
  const login = toNewLogin(left)
  try {
    return await saveClaimed(options, by, login)
  } catch (error) {
    if (!(error instanceof OwnerGoneError)) throw error
    await endUnsavedLogin(options, login)
    throw apiError('user_not_found', { cause: error })
  }
}

/** As `keepLeft`, with further changes of one transaction. @throws OwnerGoneError */
export const keepLeftIn = (
  tx: StoreRows,
  options: ActionOptions,
  by: By,
  left: LeftBehind,
): Promise<ClaimedLogin> => saveClaimedIn(tx, options, by, toNewLogin(left))

/** Ends it at the provider; where that fails the next sweep does. */
export async function endLeft(
  options: ActionOptions,
  left: ClaimedLogin,
  askOptions: AskOptions,
): Promise<void> {
  const failure = await endEmptyLogin(options, left.row, askOptions)
  await options.store.linkings.forget(left.linkingId)
  if (failure === null) await options.store.logins.deleteUnused(left.row.id)
}

/** Another login has it now. */
export async function forgetLeft(tx: StoreRows, { row, linkingId }: ClaimedLogin): Promise<void> {
  await tx.linkings.forget(linkingId)
  await tx.logins.deleteUnused(row.id)
}
