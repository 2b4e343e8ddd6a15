/**
 * Ways in which providers break while requests come in: every one of them must end in the documented 503 or,
 * where the provider says no, in its 400; never in a 500, a hang or an empty list.
 */

import fc from 'fast-check'
import type { Provider } from '#contract/resources.ts'
import type { Misbehaviour } from '#sandbox/emulator.ts'
import { sandboxProviders } from '#sandbox/magic-users.ts'
import type { World } from './world.ts'

export interface DrawnFault {
  readonly provider: Provider
  readonly does: Misbehaviour
  /** How many calls it meets. */
  readonly times: number
}

const reply = (
  status: number,
  headers: Readonly<Record<string, string>> = {},
  body: unknown = {},
) => ({ kind: 'reply', reply: { status, headers, body } }) as const

const does: fc.Arbitrary<Misbehaviour> = fc.constantFrom<Misbehaviour>(
  reply(500),
  reply(502, {}, '<html>Bad gateway</html>'),
  reply(503, { 'retry-after': '7' }),
  reply(429),
  reply(429, { 'retry-after': '120' }),
  reply(429, { 'retry-after': 'Wed, 21 Oct 2099 07:28:00 GMT' }),
  reply(429, { 'retry-after': '-1' }),
  reply(400, {}, { message: 'no\u0000\u001b[31m' }),
  reply(410),
  reply(425),
  reply(200, {}, ''),
  reply(200, {}, 'null'),
  reply(200, {}, '[[[[['),
  reply(200, {}, '{"data":[{"id":1}],"transactions":[null]}'),
  reply(204, {}, ''),
  reply(302, { location: 'http://127.0.0.1:1/' }),
  { kind: 'reset' },
  { kind: 'truncate', afterBytes: 20 },
  { kind: 'delay', ms: 40 },
)

export const drawnFaults: fc.Arbitrary<readonly DrawnFault[]> = fc.array(
  fc.record({
    provider: fc.constantFrom(...sandboxProviders),
    does,
    times: fc.integer({ min: 1, max: 20 }),
  }),
  { minLength: 1, maxLength: 3 },
)

/** Breaks the providers for the time of `during`, and moves the clock past breakers and caches afterwards. */
export async function withFaults(
  world: World,
  faults: readonly DrawnFault[],
  during: () => Promise<void>,
): Promise<void> {
  for (const { provider, ...fault } of faults) world.sandbox[provider].addFault(fault)
  try {
    await during()
  } finally {
    for (const provider of sandboxProviders) {
      world.sandbox[provider].clearFaults()
    }
    await world.advance(121_000)
  }
}
