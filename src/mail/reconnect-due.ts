/** When the notice of a lost connection is sent: a pure rule, which the store calls when one is lost. */
import { dayMs, minuteMs } from '#kernel/time.ts'
import type { ReconnectDueAt } from '#store/ports/mails.ts'

/** A connection that recovers within this time is not mailed about. */
const settleMs = 5 * minuteMs

/** A second loss is mailed a day after the first one at the earliest. */
export const reconnectDueAt: ReconnectDueAt = ({ at, formerAt }) =>
  (formerAt === null ? at : Math.max(at, formerAt + dayMs)) + settleMs
