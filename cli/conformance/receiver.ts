/**
 * Checks of somebody's receiver of events: a genuine event is accepted within 15 seconds, whatever its size
 * and however often it comes, and what is not genuine is refused. The rows of these events are made up.
 */
import { apiVersion, chunkLimits } from '#contract/events.ts'
import { type EventId, newId } from '#kernel/ids.ts'
import { mintSecret, signatureHeaders } from '#webhooks/sign.ts'
import { type CheckGroup, type ConformanceCheck, expect } from './check.ts'
import { type ServerAnswer, sendRequest } from './exchange.ts'

export interface Receiver {
  readonly url: string
  readonly secret: string
  readonly now: () => number
  /** Sent events, for the one that is repeated. */
  readonly sent: Sent[]
}

interface Sent {
  readonly id: EventId
  readonly body: Buffer
}

interface Changes {
  readonly secret?: string
  readonly ageSeconds?: number
  /** In place of the body that was signed. */
  readonly body?: Buffer
}

const timeoutMs = 15_000
const clause = 'R31'

function makeRow(index: number, filler: string) {
  return {
    id: `conformance_${index}`,
    object: 'transaction',
    amount: -1250,
    currency: 'aud',
    status: 'posted',
    description: `Conformance test ${filler}`,
    direction: 'debit',
    class: 'payment',
    account_id: '00000000-0000-4000-8000-000000000001',
    account_name: 'Conformance',
    account: 'Conformance',
    local_date: '2026-01-31',
    transaction_date: '2026-01-31T01:00:00Z',
    post_date: '2026-01-31T01:00:00Z',
    merchant_name: null,
    category: null,
    merchant_category_code: null,
    reference: null,
    extended_description: null,
  }
}

/** An event of one sync; its rows have texts of this length. */
function makeEvent(now: number, rows: number, textLength = 0): Sent {
  const id = newId<EventId>()
  const envelope = {
    id,
    object: 'event',
    type: 'transactions.synced',
    api_version: apiVersion,
    created: Math.floor(now / 1000),
    data: {
      new: Array.from({ length: rows }, (_, index) => makeRow(index, 'x'.repeat(textLength))),
      updated: [],
    },
    metadata: {
      sync_run_id: crypto.randomUUID(),
      new_count: rows,
      updated_count: 0,
      chunk: 1,
      total_chunks: 1,
    },
  }
  return { id, body: Buffer.from(JSON.stringify(envelope)) }
}

/** As large as a chunk may be (reading R33). */
function makeLargest(now: number): Sent {
  const { maxBytes, maxObjects } = chunkLimits
  const spare = maxBytes - makeEvent(now, maxObjects).body.length
  return makeEvent(now, maxObjects, Math.max(0, Math.floor(spare / maxObjects)))
}

async function deliver(
  receiver: Receiver,
  sent: Sent,
  changes: Changes = {},
): Promise<ServerAnswer> {
  const { ageSeconds = 0, secret = receiver.secret, body = sent.body } = changes
  const timestamp = Math.floor(receiver.now() / 1000) - ageSeconds
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'tributary-conformance',
    ...signatureHeaders({ ...sent, timestamp }, [secret]),
  }
  return sendRequest({
    method: 'POST',
    url: receiver.url,
    path: 'an event',
    headers,
    body,
    timeoutMs,
  })
}

function expectTaken({ status }: ServerAnswer): void {
  expect(status >= 200 && status < 300, '2xx within 15 s', `${status}`)
}

const taken = (name: string, make: (receiver: Receiver) => Sent): ConformanceCheck<Receiver> => ({
  name,
  clause,
  async run(receiver) {
    const sent = make(receiver)
    receiver.sent.push(sent)
    expectTaken(await deliver(receiver, sent))
  },
})

const refused = (name: string, make: (event: Sent) => Changes): ConformanceCheck<Receiver> => ({
  name,
  clause,
  async run(receiver) {
    const event = makeEvent(receiver.now(), 1)
    const { status } = await deliver(receiver, event, make(event))
    expect(status >= 400 && status < 500, '4xx', `${status}`)
  },
})

const checks: readonly ConformanceCheck<Receiver>[] = [
  taken('a genuine event is accepted', ({ now }) => makeEvent(now(), 1)),
  taken(
    'the same event again is accepted too: it may arrive twice',
    ({ now, sent }) => sent[0] ?? makeEvent(now(), 1),
  ),
  taken('an event without rows is accepted', ({ now }) => makeEvent(now(), 0)),
  taken('an event of 100 rows and nearly 64 KiB is accepted', ({ now }) => makeLargest(now())),
  {
    name: 'an event that is also signed with another secret is accepted: secrets are rotated',
    clause,
    async run(receiver) {
      const event = makeEvent(receiver.now(), 1)
      const timestamp = Math.floor(receiver.now() / 1000)
      const signed = signatureHeaders({ ...event, timestamp }, [mintSecret(), receiver.secret])
      const headers = { 'content-type': 'application/json', ...signed }
      const { url } = receiver
      const asked = { method: 'POST', url, path: 'an event', headers, body: event.body, timeoutMs }
      expectTaken(await sendRequest(asked))
    },
  },
  refused('a changed body is refused', ({ body }) => ({
    body: Buffer.from(body.toString('utf8').replace('-1250', '-9250')),
  })),
  refused('a timestamp of an hour ago is refused', () => ({ ageSeconds: 3600 })),
  refused('a timestamp of the next hour is refused', () => ({ ageSeconds: -3600 })),
  refused('a signature by another secret is refused', () => ({ secret: mintSecret() })),
  {
    name: 'an event without a signature is refused',
    clause,
    async run({ url, now }) {
      const { body } = makeEvent(now(), 1)
      const headers = { 'content-type': 'application/json' }
      const asked = { method: 'POST', url, path: 'an event', headers, body, timeoutMs }
      const { status } = await sendRequest(asked)
      expect(status >= 400 && status < 500, '4xx', `${status}`)
    },
  },
]

export const receiverSubject: CheckGroup<Receiver> = { name: 'receiver', checks }
