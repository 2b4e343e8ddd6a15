/** An operator asks a person by mail to reconnect what is broken. */
import type { By, Operator } from '#contract/actor.ts'
import { apiError } from '#contract/errors.ts'
import type { UserId } from '#kernel/ids.ts'
import { dayMs } from '#kernel/time.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'
import type { Store } from '#store/ports/store.ts'
import type { AuthActionOptions } from './action-options.ts'

export interface Reminder {
  /** Connections that have to be reconnected. */
  readonly broken: number
  /** Mails that were queued: one a day for each of them, and none where this server sends no mail. */
  readonly mailed: number
}

/** @throws ApiError `user_not_found` */
export type Remind = (by: By<Operator>, userId: UserId) => Promise<Reminder>

export function makeRemind({
  store,
  clock,
}: AuthActionOptions & { readonly store: Pick<Store, 'connections'> }): Remind {
  return async ({ actor }, userId) => {
    const rows = await store.connections.list(userId)
    const broken = rows.filter(isBroken)
    const mailed = await store.transact(async (tx) => {
      if ((await tx.users.find(userId)) === null) throw apiError('user_not_found')
      const at = clock.now()
      let queued = 0
      for (const { id } of broken) {
        const key = `remind:${id}:${Math.floor(at / dayMs)}`
        const matter = { kind: 'reconnect', connectionId: id } as const
        if (await tx.mails.queue({ key, userId, matter, at })) queued += 1
      }
      if (queued > 0) await tx.audit({ at, actor, action: 'users.remind', userId, details: {} })
      return queued
    })
    return { broken: broken.length, mailed }
  }
}

/** What the letter is about: the consent has ended, and its person has to give it again. */
const isBroken = ({ status }: ConnectionRow): boolean =>
  status === 'invalidated' || status === 'revoked'
