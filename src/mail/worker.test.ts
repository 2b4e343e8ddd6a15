/**
 * The whole way of a mail: queued in a real store, claimed, written, sent to a mail server of this process.
 */

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { MailMatter } from '#store/mail-matter.ts'
import type { Store } from '#store/ports/store.ts'
import type { UserRow } from '#store/ports/users.ts'
import { makeMigratedPlace } from '#tests/contract/store/place.ts'
import { addLink, addUser, now } from '#tests/contract/store/rows.ts'
import { type MailServer, startMailServer } from '#tests/support/mail-server.ts'
import { makeCompose } from './compose.ts'
import { reconnectDueAt } from './reconnect-due.ts'
import { makeSmtp } from './smtp.ts'
import { parseSmtpUrl } from './smtp-url.ts'
import { makeMailTask } from './worker.ts'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour
const origin = 'https://bank.example'
const never = new AbortController().signal
const key: MailMatter = { kind: 'key-created', name: 'laptop', byOperator: false }

interface Stage {
  readonly store: Store
  readonly server: MailServer
  readonly user: UserRow
  /** What the worker reported, in order. */
  readonly told: string[]
  pass(ms: number): void
  queue(matter?: MailMatter, name?: string): Promise<boolean>
  /** One run of a worker, as in a process of its own. */
  work(stop?: AbortSignal, over?: { readonly mails: Store['mails'] }): Promise<void>
}

async function open(t: TestContext): Promise<Stage> {
  let time = now
  const clock = { now: () => time }
  const place = makeMigratedPlace()
  const store = await place.open({ reconnectDueAt, clock })
  const server = await startMailServer()
  t.after(async () => {
    await server.close()
    await store.close()
    await place.remove()
  })
  const user = await addUser(store, { emailConfirmedAt: now })
  const told: string[] = []
  const parsed = parseSmtpUrl(`smtp://127.0.0.1:${server.port}`)
  assert(parsed !== undefined)
  const sender = () => ({ name: 'Tributary', address: 'no-reply@bank.example' })
  const mailer = makeSmtp({ server: parsed, sender, sendMs: 2_000 })
  const compose = makeCompose({
    store,
    clock,
    origin: () => origin,
    defaultZone: 'Pacific/Auckland',
  })
  const report = {
    sent: (kind: string) => void told.push(`sent ${kind}`),
    dropped: (kind: string) => void told.push(`dropped ${kind}`),
    postponed: ({ attempts }: { attempts: number }) => void told.push(`postponed ${attempts}`),
    givenUp: () => void told.push('given up'),
  }
  const work = (stop = never, over: Pick<Store, 'mails'> = store) =>
    makeMailTask({ store: over, clock, mailer, compose, report, random: () => 0 }).run(stop)
  return {
    store,
    server,
    user,
    told,
    work,
    pass(ms) {
      time += ms
    },
    queue: (matter = key, name = String(Math.random())) =>
      store.mails.queue({ key: name, userId: user.id, matter, at: time }),
  }
}

test('what waits is sent once, by however many workers', async (t) => {
  const { queue, work, server, told } = await open(t)
  for (let count = 0; count < 20; count += 1) await queue()
  await Promise.all([work(), work(), work()])
  assert.equal(server.received.length, 20)
  assert.equal(new Set(server.received.map(({ headers }) => headers['message-id'])).size, 20)
  assert.deepEqual(new Set(told), new Set(['sent key-created']))
  await work()
  assert.equal(server.received.length, 20)
})

test('a mail that is refused for the time being is tried again with growing waits, for about a day', async (t) => {
  const { queue, work, server, told, pass, store } = await open(t)
  server.setRule((command) => (/^RCPT/.test(command) ? '450 greylisted' : null))
  await queue()
  await work()
  pass(minute - 1)
  await work()
  assert.deepEqual(told, ['postponed 1'])
  let passed = minute - 1
  while (told.at(-1) !== 'given up' && passed < 3 * day) {
    pass(minute)
    passed += minute
    await work()
  }
  assert.ok(passed > 22 * hour && passed < 26 * hour, `${passed / hour} h`)
  assert.equal(told.length, 9)
  assert.equal((await store.mails.readBacklog(0)).waiting, 0)
})

test('a mail that the server takes at the second attempt arrives once', async (t) => {
  const { queue, work, server, told, pass } = await open(t)
  server.setRule((command) => (/^RCPT/.test(command) ? '451 greylisted' : null))
  await queue()
  await work()
  server.setRule(null)
  pass(minute)
  await work()
  assert.deepEqual(told, ['postponed 1', 'sent key-created'])
  assert.equal(server.received.length, 1)
})

test('a mail that is refused for good is given up at once, and the others are sent', async (t) => {
  const { queue, work, server, told } = await open(t)
  await queue()
  await queue()
  let refusals = 0
  server.setRule((command) => {
    if (!/^RCPT/.test(command)) return null
    refusals += 1
    return refusals === 1 ? '550 unknown' : null
  })
  await work()
  assert.deepEqual(told.toSorted(), ['given up', 'sent key-created'])
})

test('a process that ends between the answer of the server and the mark costs one repetition, with the same id', async (t) => {
  const { queue, work, server, store, pass } = await open(t)
  await queue()
  // It was claimed and sent; the mark is missing.
  await store.mails.claim({ now, leaseMs: 120_000, limit: 1 })
  pass(119_999)
  await work()
  assert.equal(server.received.length, 0)
  pass(1)
  await work()
  await work()
  assert.equal(server.received.length, 1)
})

test('a mail whose every attempt ends with the process is sent no more often than it may be tried', async (t) => {
  const { store, queue, work, pass, server, told } = await open(t)
  await queue()
  const stuck = { ...store.mails, end: () => Promise.reject(new Error('killed')) }
  for (let count = 0; count < 12; count += 1) {
    await work(never, { mails: stuck }).catch(() => {})
    pass(2 * minute)
  }
  assert.equal(server.received.length, 9)
  assert.equal(new Set(server.received.map(({ headers }) => headers['message-id'])).size, 1)
  assert.deepEqual(told, [])
  await work()
  assert.deepEqual(told, ['given up'])
  assert.equal((await store.mails.readBacklog(0)).waiting, 0)
})

test('after a stop no further mail is begun', async (t) => {
  const { queue, work, server, store } = await open(t)
  await queue()
  const stopped = AbortSignal.abort()
  await work(stopped)
  assert.equal(server.received.length, 0)
  assert.equal((await store.mails.readBacklog(0)).waiting, 1)
})

test('a notice goes to a confirmed address only, and to nobody who is gone', async (t) => {
  const { work, server, store, told, user, queue } = await open(t)
  const stranger = await addUser(store)
  await store.mails.queue({ key: 'stranger', userId: stranger.id, matter: key, at: now })
  await queue()
  await store.users.disarm(user.id, now)
  await work()
  assert.deepEqual(told, ['dropped key-created', 'dropped key-created'])
  assert.equal(server.received.length, 0)
})

test('a reset goes to the address of the account in any case, and not after its link has expired', async (t) => {
  const { work, server, store, told, pass } = await open(t)
  const stranger = await addUser(store)
  const matter: MailMatter = {
    kind: 'reset',
    email: stranger.email,
    url: `${origin}/reset-password/of-the-test`,
    expiresAt: now + hour,
  }
  await store.mails.queue({ key: 'first', userId: stranger.id, matter, at: now })
  await work()
  assert.equal(server.received[0]?.to[0], stranger.email)
  assert.match(
    server.received[0]?.text ?? '',
    /\nhttps:\/\/bank\.example\/reset-password\/of-the-test\n/,
  )
  await store.mails.queue({ key: 'second', userId: stranger.id, matter, at: now })
  pass(hour)
  await work()
  assert.deepEqual(told, ['sent reset', 'dropped reset'])
})

test('a connection that works again, or is gone, when its notice is sent is not mailed about', async (t) => {
  const { work, store, told, server, pass } = await open(t)
  const { user, connection } = await addLink(store)
  await store.users.confirmEmail(user.id, now)
  await store.connections.setStatus(connection.id, 'revoked')
  pass(5 * minute)
  await work()
  assert.deepEqual(told, ['sent reconnect'])
  const [mail] = server.received
  assert.equal(mail?.headers.subject, `${connection.institutionName} has to be reconnected`)
  assert.match(mail?.text ?? '', new RegExp(`${origin}/connections/${connection.id}\n`))
  const other = await addLink(store)
  await store.users.confirmEmail(other.user.id, now)
  await store.connections.setStatus(other.connection.id, 'revoked')
  await store.connections.setStatus(other.connection.id, 'deleting')
  pass(5 * minute)
  await work()
  assert.deepEqual(told, ['sent reconnect', 'dropped reconnect'])
})

test('names that others chose stay on one line, in quotes, and cannot pose as the text around them', async (t) => {
  const { work, server, queue } = await open(t)
  const name = 'x”\r\n\r\nYour account is locked:\u2028 https://evil.example \u202e'
  await queue({ kind: 'agent-connected', name, redirectHost: `h\r\nBcc: a@b.example` })
  await queue({ kind: 'key-created', name: 'k'.repeat(500), byOperator: true })
  await work()
  for (const { text, to } of server.received) {
    assert.equal(to.length, 1)
    assert.doesNotMatch(text, /^(?:Your account|Bcc)|[\u2028\u202e]/m)
    assert.ok(text.split('\n').every((line) => line.length < 300))
    assert.match(text, /\n-- \nTributary at https:\/\/bank\.example$/)
  }
  assert.equal(server.received.length, 2)
})

test('an invitation says until when it holds, and to which server it leads', async (t) => {
  const { work, server, store } = await open(t)
  const url = `${origin}/invitations/of-the-test`
  const matter: MailMatter = {
    kind: 'invitation',
    email: 'guest@example.test',
    url,
    expiresAt: now + day,
  }
  await store.mails.queue({ key: 'guest', userId: null, matter, at: now })
  await work()
  const [mail] = server.received
  assert.deepEqual(mail?.to, ['guest@example.test'])
  assert.equal(mail?.headers.subject, 'Your invitation to Tributary at bank.example')
  assert.match(mail?.text ?? '', /It works once, until 21 November 2026, 03:15 \(UTC\)\./)
})

test('nothing is sent to the demo users of sandbox mode, who have no mailbox', async (t) => {
  const { store, queue, work, server, told } = await open(t)
  const demo = await addUser(store, { email: 'professional@demo.example', emailConfirmedAt: now })
  await store.mails.queue({ key: 'demo', userId: demo.id, matter: key, at: now })
  await queue()
  await work()
  assert.deepEqual(told.toSorted(), ['dropped key-created', 'sent key-created'])
  assert.deepEqual(
    server.received.flatMap(({ to }) => to).filter((to) => to.endsWith('demo.example')),
    [],
  )
})

test('a mail calls a connection by the name that its owner gave it', async (t) => {
  const { work, store, server, pass } = await open(t)
  const { user, connection } = await addLink(store)
  await store.users.confirmEmail(user.id, now)
  await store.connections.setLabel(user.id, connection.id, 'Holiday fund')
  await store.connections.setStatus(connection.id, 'revoked')
  pass(5 * minute)
  await work()
  assert.equal(server.received[0]?.headers.subject, 'Holiday fund has to be reconnected')
})
