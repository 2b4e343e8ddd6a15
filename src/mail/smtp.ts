/**
 * Sends mail by SMTP; the only file that knows nodemailer. Certificates are verified. Beyond this machine
 * nothing is sent before TLS is up, since mails carry links that give access; only `?tls=never` asks for
 * that. Addresses and subjects that contain line ends, and addresses in brackets, are refused.
 */
import { createTransport } from 'nodemailer'
import type { Mailer, MailFailure } from './mailer.ts'
import type { Sender, SmtpServer } from './smtp-url.ts'

export interface SmtpOptions {
  readonly server: SmtpServer
  /** Called for each mail: the public origin is known once the listener is bound. */
  readonly sender: () => Sender
  /** For tests: certificate authorities instead of those of the runtime. */
  readonly ca?: string
  /** For one mail, from the look-up of the name on; 30 seconds when absent. */
  readonly sendMs?: number
}

const defaultSendMs = 30_000
const stepMs = 10_000

/** Makes the mailer; it keeps no connection open. */
export function makeSmtp(options: SmtpOptions): Mailer {
  const { sendMs = defaultSendMs, sender } = options
  const transport = openTransport(options)
  return {
    async send({ id, to, subject, text }, signal) {
      const from = sender()
      if (/\p{Cc}/u.test(`${to}${subject}${from.name}${from.address}`)) return brokenLetter
      // nodemailer would send to the address between the brackets.
      if (/[<>]/.test(to)) return brokenLetter
      try {
        await transport.sendMail({
          from,
          // As an object it is one address, whatever it contains.
          to: { name: '', address: to },
          subject,
          text,
          messageId: `<${id}@${from.address.slice(from.address.lastIndexOf('@') + 1)}>`,
          // No replies of absent people (RFC 3834 §5).
          headers: { 'Auto-Submitted': 'auto-generated' },
          signal: AbortSignal.any([signal, AbortSignal.timeout(sendMs)]),
        })
        return null
      } catch (error) {
        return toFailure(error)
      }
    },
    async verify() {
      try {
        await transport.verify()
        return null
      } catch (error) {
        return toFailure(error)
      }
    },
  }
}

function openTransport({ server, ca, sendMs = defaultSendMs }: SmtpOptions) {
  const { host, port, isSecure, isPlain, login } = server
  const step = Math.min(stepMs, sendMs)
  return createTransport({
    host,
    port,
    secure: isSecure,
    requireTLS: !isSecure && !isPlain,
    // A server on this machine often has a certificate of its own making, and needs none.
    ignoreTLS: isPlain,
    ...(login === null
      ? {}
      : { auth: { user: login.user, pass: login.password.reveal() }, forceAuth: true }),
    tls: {
      minVersion: 'TLSv1.2',
      rejectUnauthorized: true,
      ...(ca === undefined ? {} : { ca }),
    },
    connectionTimeout: step,
    greetingTimeout: step,
    socketTimeout: Math.min(2 * stepMs, sendMs),
    dnsTimeout: step,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
}

/** A mistake of ours: nothing was sent. */
const brokenLetter: MailFailure = { code: 'ELETTER', status: null, isFinal: true }

/**
 * Statuses from 500 are final (RFC 5321 §4.2.1) where they concern this mail: its receiver or its content. A
 * refused sign-in or sender is a matter of the configuration, which an operator mends while the mail waits.
 */
function toFailure(thrown: unknown): MailFailure {
  if (!(thrown instanceof Error)) throw thrown
  const { code, originalCode, responseCode, command } = thrown as Error &
    Readonly<Record<string, unknown>>
  const status = typeof responseCode === 'number' ? responseCode : null
  const ofThisMail = command === 'RCPT TO' || command === 'DATA'
  if (code === 'ESOCKET' && isOfTls(originalCode)) return { code: 'ETLS', status, isFinal: false }
  return {
    code: typeof code === 'string' && /^[A-Z][A-Z_\d]{1,40}$/.test(code) ? code : thrown.name,
    status,
    isFinal: ofThisMail && status !== null && status >= 500 && status < 600,
  }
}

/**
 * Whether TLS or the certificate is the trouble, which nodemailer reports as an unreachable server. Such
 * codes have several words (`ERR_TLS_CERT_ALTNAME_INVALID`, `DEPTH_ZERO_SELF_SIGNED_CERT`), those of the
 * system one (`ECONNREFUSED`).
 */
function isOfTls(code: unknown): boolean {
  return typeof code === 'string' && (code.includes('_') || code === 'EPROTO')
}
