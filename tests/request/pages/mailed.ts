/** A service with a mail server of this process, and the links in what it received. */
import assert from 'node:assert/strict'
import { request } from 'undici'
import { type MailServer, type ReceivedMail, startMailServer } from '#tests/support/mail-server.ts'
import { type PagesWorld, startPages } from './world.ts'

export interface MailedWorld extends PagesWorld {
  readonly server: MailServer
  /** Invites the address as an operator does. */
  invite(email: string): Promise<{ readonly status: number; readonly url: string }>
  /** The newest mail to an address; waits for it. `count`: how many there must be. */
  mailTo(email: string, count?: number): Promise<ReceivedMail>
  close(): Promise<void>
}

export async function startMailed(
  env: Readonly<Record<string, string>> = {},
): Promise<MailedWorld> {
  const server = await startMailServer()
  const smtp = { SMTP_URL: `smtp://127.0.0.1:${server.port}`, ROLE: 'all' }
  const world = await startPages({ env: { ...smtp, ...env } })
  return {
    ...world,
    server,
    invite: (email) => invite(world, email),
    async mailTo(email, count = 1) {
      const sent = () => server.received.filter(({ to }) => to.includes(email))
      for (let look = 0; look < 500 && sent().length < count; look += 1)
        await new Promise((resolve) => setTimeout(resolve, 20))
      assert.equal(sent().length, count, `mails to ${email}`)
      const mail = sent().at(-1)
      assert(mail !== undefined)
      return mail
    },
    async close() {
      await world.close()
      await server.close()
    },
  }
}

export async function invite({ service }: PagesWorld, email: string) {
  const answer = await request(`${service.adminUrl}/admin/invitations`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${service.adminToken}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify({ email }),
  })
  const { url = '' } = (await answer.body.json()) as { url?: string }
  return { status: answer.statusCode, url }
}

/** The path of the one link in a mail. */
export function pathIn({ text }: ReceivedMail): string {
  const urls = text.split('\n').filter((line) => /^https?:\/\/\S+\/[\w-]{43}$/.test(line))
  assert.equal(urls.length, 1, text)
  return new URL(urls[0] ?? '').pathname
}
