/** Turns the mail room's reports into log lines and metrics: ids and statuses, never an address or text. */
import type { PrintUrl } from '#auth/sign-in/single-use.ts'
import { adviceOn } from '#doctor/mail.ts'
import type { MailReport } from '#mail/worker.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'

export function makeMailReports(log: Log, metrics: Metrics): MailReport {
  return {
    sent(kind) {
      metrics.mails.ended('sent')
      log.debug({ kind }, 'mail sent')
    },
    postponed({ failure, ...mail }) {
      metrics.mails.ended('postponed')
      const fields = { ...mail, ...toFields(failure), action: adviceOn(failure) }
      log.warn(fields, 'mail not sent, to be tried again')
    },
    givenUp(mail) {
      metrics.mails.ended('given_up')
      const fields =
        'failure' in mail
          ? { id: mail.id, kind: mail.kind, attempts: mail.attempts, ...toFields(mail.failure) }
          : mail
      log.error(fields, 'mail given up')
    },
    dropped(kind) {
      metrics.mails.ended('dropped')
      log.debug({ kind }, 'mail not needed any more')
    },
  }
}

function toFields({ code, status }: { readonly code: string; readonly status: number | null }) {
  return status === null ? { code } : { code, status }
}

const names = {
  invitation: 'invitation',
  confirmation: 'confirmation of an address',
  reset: 'new password',
} as const

/**
 * Logs the link itself: without a mail server the operator passes it on (docs/operations/install.md, Mail).
 */
export function printUrl(log: Log, { kind, email, url }: Parameters<PrintUrl>[0]): void {
  log.warn(`${names[kind]} for ${email}, valid once: ${url}`)
}
