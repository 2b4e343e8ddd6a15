/**
 * The part of a process that sends mail: the worker that the store notifies of waiting mails, and the sweep.
 */
import { defaultTimezone } from '#auth/caller.ts'
import { startPeriodic } from '#jobs/periodic.ts'
import { makeCompose } from '#mail/compose.ts'
import { makeExpiryNotices } from '#mail/expiry-notices.ts'
import { makeMailSweep } from '#mail/mail-sweep.ts'
import { makeMailTask } from '#mail/worker.ts'
import type { AssemblyOptions } from './foundation.ts'

export interface Mails {
  /** Sends nothing more; resolves when the attempts in flight have ended and are stored. */
  stop(): Promise<void>
}

export function startMails({ store, clock, reports, mailer, origins }: AssemblyOptions): Mails {
  const sweep = startPeriodic(makeMailSweep({ store, clock }), reports.jobs)
  if (mailer === null) return sweep
  const compose = makeCompose({
    store,
    clock,
    origin: () => origins().base,
    defaultZone: defaultTimezone,
  })
  const notices = startPeriodic(makeExpiryNotices({ store, clock }), reports.jobs)
  const task = makeMailTask({ store, clock, mailer, compose, report: reports.mails })
  const worker = startPeriodic(task, reports.jobs)
  const unsubscribe = store.onWork((kind) => {
    if (kind === 'mail') worker.wake()
  })
  return {
    async stop() {
      unsubscribe()
      await Promise.all([worker.stop(), notices.stop(), sweep.stop()])
    },
  }
}
