/** The webhooks of the Fiskil emulator, as they are written. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makePeople } from './people.ts'
import { makeWebhooks } from './webhooks.ts'

test('every webhook has a message id of its own', async (t) => {
  const clock = { now: () => Date.parse('2026-11-20T21:15:00Z') }
  const { healthy } = makePeople({ seed: 'ids', nowMs: clock.now() })
  const { sender, send } = makeWebhooks({ clock, clientId: 'client' })
  t.after(() => sender.close())
  // Nothing listens there; the bodies are made before.
  sender.target = 'http://127.0.0.1:1'
  const consents = healthy.consents.slice(0, 1)
  const bodies = Array.from({ length: 20 }, () =>
    send('consent.updated', { person: healthy, consents }).map(({ body }) => JSON.parse(body)),
  ).flat()
  assert.equal(new Set(bodies.map(({ message_id: id }) => id)).size, 20)
})
