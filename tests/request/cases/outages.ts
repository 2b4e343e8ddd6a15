/** 503 of operations that ask a provider: it cannot be reached or read (readings R8, R20). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { OperationName } from '#contract/operations.ts'
import { codeOf } from '#tests/support/service.ts'
import { askedOf } from './operation.ts'

const broken = [500, 502, 503] as const

export function promiseOutages(name: OperationName): void {
  const asked = askedOf(name)

  test(`R20: ${name} is 503 without code while its provider answers 5xx, and 200 again afterwards`, async () => {
    const { service, user, url, operation } = asked()
    const { fiskil, snaptrade } = service.sandbox
    const emulator = operation.access === 'brokerage' ? snaptrade : fiskil
    for (const status of broken) {
      // Breakers and walks have expired.
      service.clock.advance(3_800_000)
      emulator.addFault({
        when: ({ path }) => /transactions|activities|positions/.test(path),
        does: { kind: 'reply', reply: { status, headers: {}, body: { message: 'inner words' } } },
      })
      const answer = await service.get(url, user)
      assert.equal(answer.status, 503)
      assert.equal(codeOf(answer), undefined)
      assert.equal(answer.headers['retry-after'], '30')
      assert.equal(answer.headers['x-cache'], 'MISS')
      assert.doesNotMatch(answer.text, /inner words/)
      emulator.clearFaults()
      assert.equal((await service.get(url, user)).status, 200)
    }
  })
}
