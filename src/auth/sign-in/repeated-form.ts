/**
 * A form that creates something carries a value made for it alone. Sent twice (a double click, a reload, two
 * processes) with the same fields, it is carried out once.
 */
import { hash, randomUUID } from 'node:crypto'
import type { WindowStore } from '#fast/port.ts'
import type { UserId } from '#kernel/ids.ts'

const keptMs = 10 * 60_000

/** The value for the hidden field `once` of one showing of a form. */
export const makeOnce = (): string => randomUUID()

/** True when this person has sent a form with this `once` and these fields before, within ten minutes. */
export type IsRepeated = (userId: UserId, form: URLSearchParams) => Promise<boolean>

export function makeIsRepeated({ windows }: { readonly windows: WindowStore }): IsRepeated {
  return async (userId, form) => {
    // Programs that fill in the fields themselves send none, and may repeat themselves.
    if ((form.get('once') ?? '') === '') return false
    const digest = hash('sha256', form.toString(), 'base64url')
    return !(await windows.take(`form-once:${userId}:${digest}`, 1, keptMs)).allowed
  }
}
