/**
 * Sends the mails that wait. A claim keeps a mail from other processes for longer than an attempt can last,
 * so that no two send it at once. A process that ends between the server's answer and the mark leaves the
 * mail to be sent once more: each such end costs at most one repetition, with the same Message-ID, and a mail
 * is sent no more often than it may be tried.
 */
import type { PeriodicTask } from '#jobs/periodic.ts'
import { type Clock, hourMs, minuteMs } from '#kernel/time.ts'
import type { MailKind } from '#store/mail-matter.ts'
import type { ClaimedMail } from '#store/ports/mails.ts'
import type { Store } from '#store/ports/store.ts'
import type { Compose } from './compose.ts'
import type { Mailer, MailFailure } from './mailer.ts'

export interface MailReport {
  sent(kind: MailKind): void
  /** It will be tried again. */
  postponed(mail: FailedMail): void
  /** Nobody tries it again. `unreadable`: its row cannot be decrypted. */
  givenUp(mail: FailedMail | { readonly id: string; readonly unreadable: true }): void
  /** It was not needed any more, or nobody may get it. */
  dropped(kind: MailKind): void
}

export interface FailedMail {
  readonly id: string
  readonly kind: MailKind
  readonly attempts: number
  readonly failure: MailFailure
}

export interface MailWorkerOptions {
  readonly store: Pick<Store, 'mails'>
  readonly clock: Clock
  readonly mailer: Mailer
  readonly compose: Compose
  readonly report: MailReport
  readonly random?: () => number
}

/** Longer than an attempt, its look-ups and its mark. */
const leaseMs = 120_000
const maxInFlight = 4
/** What is left then waits for the next run. */
const maxRounds = 500
/** An attempt that is under way at a stop may end within this. */
const graceMs = 10_000

/** After each failed attempt; after the last of them, about a day in all, the mail is given up. */
const waits: readonly number[] = [
  minuteMs,
  5 * minuteMs,
  15 * minuteMs,
  hourMs,
  2 * hourMs,
  4 * hourMs,
  8 * hourMs,
  8 * hourMs,
]
/** A clock that was ahead cannot have put a mail off for longer; notices may wait a day. */
export const longestMailWaitMs = 26 * hourMs

export function makeMailTask(options: MailWorkerOptions): PeriodicTask {
  const { store, clock } = options
  return {
    name: 'mail',
    everyMs: 30_000,
    restMs: 30_000,
    firstRun: 'at_once',
    async run(stop) {
      const { signal, release } = abortAfter(stop, graceMs)
      try {
        for (let round = 0; round < maxRounds && !stop.aborted; round += 1) {
          const now = clock.now()
          const claimed = await store.mails.claim({ now, leaseMs, limit: maxInFlight })
          if (claimed.length === 0) return
          await allOf(claimed.map((mail) => deliver(options, mail, signal)))
        }
      } finally {
        release()
      }
    },
  }
}

/** One mail that fails inside must not leave the others half done. */
async function allOf(work: readonly Promise<void>[]): Promise<void> {
  const results = await Promise.allSettled(work)
  const failed = results.find((result) => result.status === 'rejected')
  if (failed !== undefined) throw failed.reason
}

async function deliver(
  options: MailWorkerOptions,
  mail: ClaimedMail,
  stop: AbortSignal,
): Promise<void> {
  const { store, compose, mailer, report } = options
  const { id, kind, attempts, matter } = mail
  if (attempts > waits.length + 1) {
    // Every attempt before was cut off before its mark, and may have been sent.
    await store.mails.end(mail)
    report.givenUp({
      id,
      kind,
      attempts,
      failure: { code: 'EINTERRUPTED', status: null, isFinal: true },
    })
    return
  }
  const letter = await compose(mail)
  if (letter === null) {
    await store.mails.end(mail)
    if (matter === null) report.givenUp({ id, unreadable: true })
    else report.dropped(kind)
    return
  }
  const failure = await mailer.send(letter, stop)
  if (failure === null) {
    await store.mails.end(mail)
    report.sent(kind)
    return
  }
  const wait = waits[attempts - 1]
  if (failure.isFinal || wait === undefined) {
    await store.mails.end(mail)
    report.givenUp({ id, kind, attempts, failure })
    return
  }
  const { random = Math.random } = options
  await store.mails.postpone(mail, options.clock.now() + Math.round(wait * (1 - random() / 10)))
  report.postponed({ id, kind, attempts, failure })
}

/** A signal that is aborted some time after `stop`. */
function abortAfter(stop: AbortSignal, ms: number) {
  const controller = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const begin = () => {
    timer = setTimeout(() => controller.abort(stop.reason), ms)
  }
  if (stop.aborted) begin()
  else stop.addEventListener('abort', begin, { once: true })
  return {
    signal: controller.signal,
    release() {
      stop.removeEventListener('abort', begin)
      clearTimeout(timer)
    },
  }
}
