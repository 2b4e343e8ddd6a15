/**
 * Properties of the webhooks' signatures: whatever byte of a signed body or of its signature changes, it is
 * refused.
 */
import assert from 'node:assert/strict'
import { createHmac, generateKeyPairSync, sign } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { makeAkahuWebhooks } from './akahu/webhook.ts'
import { makeFiskilWebhooks } from './fiskil/webhook.ts'
import type { WebhookReceiver } from './port.ts'
import { makeSnapTradeWebhooks } from './snaptrade/webhook.ts'

const secret = Buffer.from('a signing secret of some length').toString('base64')
const consumerKey = 'a-consumer-key'
const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const at = '2026-11-20T21:15:00Z'
const clock = { now: () => Date.parse(at) }
const odd = () => {}

interface Signed {
  readonly receiver: Pick<WebhookReceiver, 'receive'>
  readonly header: string
  readonly sign: (body: Buffer) => string
  /** Bytes whose change a receiver may overlook, because they are not signed. */
  readonly isFree: (byte: number) => boolean
}

const signers: Readonly<Record<string, Signed>> = {
  Fiskil: {
    receiver: makeFiskilWebhooks({ secret, clock, odd }),
    header: 'x-fiskil-signature',
    sign: (body) =>
      createHmac('sha256', Buffer.from(secret, 'base64')).update(body).digest('base64'),
    isFree: (byte) => [32, 10, 13].includes(byte),
  },
  Akahu: {
    receiver: makeAkahuWebhooks({
      keys: { find: async (id) => (id === 7 ? publicKey : null), confirm: () => {} },
      odd,
    }),
    header: 'x-akahu-signature',
    sign: (body) => sign('sha256', body, privateKey).toString('base64'),
    isFree: () => false,
  },
  SnapTrade: {
    receiver: makeSnapTradeWebhooks({ consumerKey, clock, odd }),
    header: 'signature',
    sign: (body) => createHmac('sha256', consumerKey).update(body).digest('base64'),
    isFree: () => false,
  },
}

async function kindOf({ receiver, header }: Signed, body: Buffer, signature: string) {
  const headers = new Map([
    [header, signature],
    ['x-akahu-signing-key', '7'],
  ])
  const { kind } = await receiver.receive({ header: (name) => headers.get(name), body })
  return kind
}

/** Compact bodies, as the providers send them. */
const bodies = fc
  .record({
    eventTimestamp: fc.constant(at),
    webhookId: fc.uuid(),
    message_id: fc.uuid(),
    data: fc.dictionary(fc.string({ maxLength: 8 }), fc.oneof(fc.string(), fc.integer())),
  })
  .map((body) => Buffer.from(JSON.stringify(body)))

const changedBytes = fc.tuple(bodies, fc.nat(), fc.integer({ min: 1, max: 255 }))

for (const [provider, signed] of Object.entries(signers)) {
  test(`${provider}: a signed body is accepted, and refused once any byte of it changes`, async () => {
    await fc.assert(
      fc.asyncProperty(changedBytes, async ([body, place, by]) => {
        const signature = signed.sign(body)
        assert.equal(await kindOf(signed, body, signature), 'accepted')
        const changed = Buffer.from(body)
        const index = place % body.length
        changed[index] = (body[index] ?? 0) ^ by
        fc.pre(!signed.isFree(body[index] ?? 0) || !signed.isFree(changed[index] ?? 0))
        assert.equal(await kindOf(signed, changed, signature), 'refused')
      }),
      { numRuns: 150 },
    )
  })

  test(`${provider}: a signature is refused once any character of it changes, is added or is lost`, async () => {
    const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=-_ '
    await fc.assert(
      fc.asyncProperty(
        bodies,
        fc.nat(),
        fc.constantFrom(...letters, ''),
        async (body, place, letter) => {
          const signature = signed.sign(body)
          const index = place % (signature.length + 1)
          const changed = signature.slice(0, index) + letter + signature.slice(index + 1)
          fc.pre(changed !== signature)
          assert.equal(await kindOf(signed, body, changed), 'refused')
        },
      ),
      { numRuns: 150 },
    )
  })
}
