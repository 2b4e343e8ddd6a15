/** Makes the mailer of `SMTP_URL`. */
import type { Secret } from '#kernel/secret.ts'
import type { Mailer } from '#mail/mailer.ts'
import { defaultSender, parseSmtpUrl } from '#mail/smtp-url.ts'
import type { Origins } from '#settings/config-types.ts'

/** Null: no mail server is configured; then nothing that sends mail is loaded. */
export async function makeMailer(
  smtpUrl: Secret<string> | null,
  origins: () => Origins,
): Promise<Mailer | null> {
  const server = smtpUrl === null ? undefined : parseSmtpUrl(smtpUrl.reveal())
  if (server === undefined) return null
  const { makeSmtp } = await import('#mail/smtp.ts')
  return makeSmtp({ server, sender: () => server.from ?? defaultSender(origins().base) })
}
