/** The mail server is real: a socket of this process that speaks SMTP. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type MailId, newId } from '#kernel/ids.ts'
import { makeCertificate } from '#tests/support/certificate.ts'
import {
  type MailServer,
  type MailServerOptions,
  startMailServer,
} from '#tests/support/mail-server.ts'
import type { Letter } from './mailer.ts'
import { makeSmtp, type SmtpOptions } from './smtp.ts'
import { parseSmtpUrl, type SmtpServer } from './smtp-url.ts'

const id = newId<MailId>()
const letter: Letter = {
  id,
  to: 'emma@example.test',
  subject: 'Grüße',
  text: 'One\n\nTwo — three\n',
}
const never = new AbortController().signal
const certificate = makeCertificate('localhost')

async function open(t: TestContext, options: MailServerOptions = {}): Promise<MailServer> {
  const server = await startMailServer(options)
  t.after(() => server.close())
  return server
}

function mailerOf(url: string, over: Partial<SmtpOptions> = {}, server: Partial<SmtpServer> = {}) {
  const parsed = parseSmtpUrl(url)
  assert(parsed !== undefined)
  const sender = () => ({ name: 'Tributary', address: 'no-reply@bank.example' })
  return makeSmtp({ server: { ...parsed, ...server }, sender, ...over })
}

/** As a server beyond this machine is treated. */
const remote = { isPlain: false }

test('a mail arrives as it was written, in plain text, from the sender to one address', async (t) => {
  const server = await open(t)
  assert.equal(await mailerOf(`smtp://127.0.0.1:${server.port}`).send(letter, never), null)
  const [mail] = server.received
  assert.deepEqual([mail?.from, mail?.to], ['no-reply@bank.example', ['emma@example.test']])
  const { headers = {} } = mail ?? {}
  assert.equal(headers.from, 'Tributary <no-reply@bank.example>')
  assert.equal(headers.to, 'emma@example.test')
  assert.equal(headers.subject, 'Grüße')
  assert.equal(headers['message-id'], `<${id}@bank.example>`)
  assert.equal(headers['auto-submitted'], 'auto-generated')
  assert.match(headers['content-type'] ?? '', /^text\/plain; charset=utf-8/)
  assert.equal(mail?.text.trimEnd(), 'One\n\nTwo — three')
  assert.doesNotMatch(mail?.raw ?? '', /<html|<img|List-Unsubscribe|X-Mailer/i)
})

test('no text can add a header or a receiver', async (t) => {
  const server = await open(t)
  const mailer = mailerOf(`smtp://127.0.0.1:${server.port}`)
  const attacks: Partial<Letter>[] = [
    { to: 'emma@example.test\r\nRCPT TO:<thief@example.test>' },
    { to: 'emma@example.test\nBcc: thief@example.test' },
    { to: '<emma@example.test>' },
    { to: 'emma@example.test>SIZE=1' },
    { subject: 'Hello\r\nBcc: thief@example.test' },
    { subject: 'Hello\r\n\r\nanother body' },
  ]
  for (const attack of attacks) {
    const failure = await mailer.send({ ...letter, ...attack }, never)
    assert.deepEqual([failure?.code, failure?.isFinal], ['ELETTER', true])
  }
  assert.equal(server.received.length, 0)
  for (const to of ['emma@example.test,thief@example.test', 'a b@c.test'])
    await mailer.send({ ...letter, to }, never)
  for (const mail of server.received) {
    assert.equal(mail.to.length, 1)
    assert.notEqual(mail.to[0], 'thief@example.test')
  }
  await mailer.send({ ...letter, text: 'x\r\n.\r\nMAIL FROM:<thief@example.test>\r\n' }, never)
  assert.match(server.received.at(-1)?.text ?? '', /^x\n\.\nMAIL FROM:<thief@example\.test>/)
})

test('beyond this machine nothing is sent without TLS, not even the password', async (t) => {
  const login = { user: 'me', password: 'of the test' }
  const plain = await open(t, login)
  const url = `smtp://me:of%20the%20test@127.0.0.1:${plain.port}`
  const failure = await mailerOf(url, {}, remote).send(letter, never)
  assert.equal(failure?.isFinal, false)
  assert.deepEqual(plain.received, [])
  assert.ok(
    plain.commands.every((line) => !/^AUTH/i.test(line)),
    plain.commands.join('\n'),
  )
})

test('STARTTLS is used with a certificate that is valid for the name of the server, and no other', async (t) => {
  const login = { user: 'me', password: 'of the test' }
  const server = await open(t, { ...login, certificate, startTls: true })
  const url = `smtp://me:of%20the%20test@localhost:${server.port}`
  const { cert } = certificate
  assert.equal(await mailerOf(url, { ca: cert }, remote).send(letter, never), null)
  assert.deepEqual([server.received[0]?.isSecure, server.received[0]?.user], [true, 'me'])
  const untrusted = await mailerOf(url, {}, remote).send(letter, never)
  assert.equal(untrusted?.isFinal, false)
  const misnamed = mailerOf(url.replace('localhost', '127.0.0.1'), { ca: cert }, remote)
  assert.notEqual(await misnamed.send(letter, never), null)
  assert.equal(server.received.length, 1)
  assert.equal(server.commands.filter((line) => /^AUTH/.test(line)).length, 1)
})

test('a certificate that nobody vouches for, one of another name and a server without TLS are called a matter of TLS, not of reach', async (t) => {
  const { cert: ca } = certificate
  for (const options of [{ secure: true }, { startTls: true }]) {
    const server = await open(t, { certificate, ...options })
    const scheme = 'secure' in options ? 'smtps' : 'smtp'
    const to = (host: string, over: Partial<SmtpOptions> = {}) =>
      mailerOf(`${scheme}://${host}:${server.port}`, over, remote)
    const expected = { code: 'ETLS', status: null, isFinal: false }
    assert.deepEqual(await to('localhost').send(letter, never), expected)
    assert.deepEqual(await to('localhost').verify(), expected)
    assert.deepEqual(await to('127.0.0.1', { ca }).send(letter, never), expected)
  }
  const plain = await open(t)
  const secured = mailerOf(`smtps://127.0.0.1:${plain.port}`)
  assert.equal((await secured.send(letter, never))?.code, 'ETLS')
  await plain.close()
  assert.equal((await secured.send(letter, never))?.code, 'ESOCKET')
})

test('smtps has TLS from the first byte', async (t) => {
  const server = await open(t, { certificate, secure: true })
  const mailer = mailerOf(`smtps://localhost:${server.port}`, { ca: certificate.cert })
  assert.equal(await mailer.send(letter, never), null)
  assert.equal(server.received[0]?.isSecure, true)
})

test('what concerns this mail for good is final, what may pass or is a matter of the settings is not', async (t) => {
  const server = await open(t, { user: 'me', password: 'right' })
  const mailer = mailerOf(`smtp://me:right@127.0.0.1:${server.port}`)
  const given = async (verb: RegExp, line: string) => {
    server.setRule((command) => (verb.test(command) ? line : null))
    return mailer.send(letter, never)
  }
  const shown = (failure: Awaited<ReturnType<typeof given>>) => [failure?.status, failure?.isFinal]
  assert.deepEqual(shown(await given(/^RCPT/, '450 4.2.0 greylisted')), [450, false])
  assert.deepEqual(shown(await given(/^RCPT/, '550 5.1.1 no such user')), [550, true])
  assert.deepEqual(shown(await given(/^\.$/, '451 later')), [451, false])
  assert.deepEqual(shown(await given(/^\.$/, '554 spam')), [554, true])
  assert.deepEqual(shown(await given(/^MAIL/, '550 wrong sender')), [550, false])
  assert.deepEqual(shown(await given(/^AUTH/, '535 wrong')), [535, false])
  assert.equal((await given(/^EHLO/, 'close'))?.isFinal, false)
  assert.deepEqual(server.received, [])
})

test('a server that is away, silent or slow costs a bounded time, and a stop ends an attempt at once', async (t) => {
  const server = await open(t)
  const mailer = mailerOf(`smtp://127.0.0.1:${server.port}`, { sendMs: 300 })
  for (const step of [/^CONNECT/, /^EHLO/, /^DATA/, /^\.$/]) {
    server.setRule((command) => (step.test(command) ? 'hang' : null))
    const from = performance.now()
    assert.equal((await mailer.send(letter, never))?.isFinal, false)
    assert.ok(performance.now() - from < 2_000)
  }
  const stopped = new AbortController()
  const patient = mailerOf(`smtp://127.0.0.1:${server.port}`)
  const sending = patient.send(letter, stopped.signal)
  setTimeout(() => stopped.abort(), 50)
  const from = performance.now()
  assert.equal((await sending)?.isFinal, false)
  assert.ok(performance.now() - from < 2_000)
  await server.close()
  assert.equal((await patient.send(letter, never))?.code, 'ESOCKET')
})

test('verify signs in and sends nothing', async (t) => {
  const server = await open(t, { user: 'me', password: 'right' })
  assert.equal(await mailerOf(`smtp://me:right@127.0.0.1:${server.port}`).verify(), null)
  const wrong = await mailerOf(`smtp://me:wrong@127.0.0.1:${server.port}`).verify()
  assert.deepEqual([wrong?.code, wrong?.status], ['EAUTH', 535])
  assert.deepEqual(server.received, [])
})

test('no failure repeats an address or the words of the server', async (t) => {
  const server = await open(t)
  server.setRule((command) => (/^RCPT/.test(command) ? '550 emma@example.test is unknown' : null))
  const failure = await mailerOf(`smtp://127.0.0.1:${server.port}`).send(letter, never)
  assert.doesNotMatch(JSON.stringify(failure), /emma|unknown/)
})
