import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkMail, type MailService } from './mail.ts'

const now = 1_000_000_000
const signal = new AbortController().signal

/** The one finding with this server and this backlog. */
async function look(mail: MailService | null, waiting = 0, oldestLateAt: number | null = null) {
  const readBacklog = async () => ({ waiting, oldestLateAt })
  const store = { mails: { readBacklog } } as unknown as Parameters<typeof checkMail>[0]['store']
  const [finding, ...more] = await checkMail({ mail, store, clock: { now: () => now } })(signal)
  assert.deepEqual(more, [])
  return finding
}

const answering = (failure: Awaited<ReturnType<MailService['verify']>>): MailService => ({
  verify: async () => failure,
})

test('without a mail server the doctor says where links are instead', async () => {
  const finding = await look(null)
  assert.equal(finding?.status, 'ok')
  assert.match(finding?.message ?? '', /SMTP_URL is not set.*links in the log/)
})

test('a mail server that takes us is ok, with mails that wait for hours it is a warning', async () => {
  assert.deepEqual((await look(answering(null), 2, now - 60_000))?.status, 'ok')
  const late = await look(answering(null), 2, now - 3 * 3_600_000)
  assert.equal(late?.status, 'warning')
  assert.match(late?.message ?? '', /2 waiting, the oldest for 180 min/)
})

test('a mail server that does not take us is an error that says what to do', async () => {
  const refused = await look(answering({ code: 'EAUTH', status: 535 }), 1)
  assert.equal(refused?.status, 'error')
  assert.match(`${refused?.message} ${refused?.action}`, /EAUTH, status 535.*1 waiting.*percent/)
  const away = await look(answering({ code: 'ESOCKET', status: null }))
  assert.match(away?.action ?? '', /reachable/)
  assert.match((await look(answering({ code: 'ETLS', status: null })))?.action ?? '', /certificate/)
})
