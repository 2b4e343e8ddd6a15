/** The metrics of mail. No label holds an id or an address. */
import type { Registry } from './registry.ts'

export interface MailMetrics {
  /** `postponed`: an attempt failed, and the mail is tried again. `dropped`: it was not needed any more. */
  ended(result: MailResult): void
}

const results = ['sent', 'postponed', 'given_up', 'dropped'] as const
type MailResult = (typeof results)[number]

/** Adds them to `registry`. */
export function makeMailMetrics(registry: Registry): MailMetrics {
  const help = 'Attempts to send a mail, by result.'
  const mails = registry.counter('tributary_mails_total', help, ['result'])
  // An alert on the increase of a counter would miss its first count if there were no value before it.
  for (const result of results) mails.add({ result }, 0)
  return { ended: (result) => mails.add({ result }) }
}
