/** Whether there is a mail server, whether it takes us, and whether mails wait longer than retries last. */
import { type Clock, minuteMs } from '#kernel/time.ts'
import type { Store } from '#store/ports/store.ts'
import { type Check, type Finding, fault, ok, warning } from './finding.ts'

/** The code is a word such as `EAUTH`, never the server's text. */
interface MailFault {
  readonly code: string
  readonly status: number | null
}

/** Connects and signs in; null when that works. */
export interface MailService {
  verify(): Promise<MailFault | null>
}

interface Options {
  readonly mail: MailService | null
  readonly store: Pick<Store, 'mails'>
  readonly clock: Clock
}

export const mailRemedy =
  'See that the server of SMTP_URL is reachable from here and answers (docs/operations/incidents.md, Mail is not sent)'

/** A mail whose first attempts failed for a passing reason has been sent by then. */
const lateMs = 60 * minuteMs

export function checkMail({ mail, store, clock }: Options): Check {
  return async () => {
    if (mail === null) {
      const without = 'SMTP_URL is not set: invitations and new passwords are links in the log'
      return [ok('mail', `${without}, and nobody gets notices`)]
    }
    const now = clock.now()
    const { waiting, oldestLateAt } = await store.mails.readBacklog(now)
    const age = oldestLateAt === null ? 0 : now - oldestLateAt
    const failure = await mail.verify()
    const counts = `${waiting} waiting`
    if (failure !== null) return [describe(failure, counts)]
    if (age < lateMs) return [ok('mail', `the server takes us; ${counts}`)]
    return [
      warning(
        'mail',
        `the server takes us; ${counts}, the oldest for ${Math.round(age / minuteMs)} min`,
        'Look for "mail not sent" in the log; see that a process with ROLE=worker or ROLE=all has the same SMTP_URL',
      ),
    ]
  }
}

function describe({ code, status }: MailFault, counts: string): Finding {
  const answer = status === null ? code : `${code}, status ${status}`
  const advice = adviceOn({ code, status })
  return fault('mail', `the server does not take us (${answer}); ${counts}`, advice)
}

/** What an operator can do about a failure of the mail server. */
export function adviceOn({ code, status }: MailFault): string {
  if (code === 'ETLS') {
    return 'See that the server offers TLS with a certificate that is valid for its name; without TLS only a server on this machine is used, or a relay with tls=never in SMTP_URL (docs/operations/install.md, Mail)'
  }
  if (status !== null && status >= 400 && status < 500) {
    return 'The server puts mail off for a while (greylisting, a limit, no room), and it is sent later; where that stays so, look for the reason in the log of the mail server'
  }
  if (code === 'EAUTH') {
    return 'Correct user and password in SMTP_URL; both are percent-encoded'
  }
  if (code === 'EENVELOPE') {
    return 'Set the sender, from= in SMTP_URL, to an address that the user may send from; a refused receiver passes or is given up (docs/operations/install.md, Mail)'
  }
  if (status !== null) return 'Look for the reason in the log of the mail server'
  return mailRemedy
}
