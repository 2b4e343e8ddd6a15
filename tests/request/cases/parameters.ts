/**
 * 400 of operations that name a connection: parameters that break the schema (contract, Errors; readings R3,
 * R11).
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { OperationName } from '#contract/operations.ts'
import { codeOf } from '#tests/support/service.ts'
import { askedOf } from './operation.ts'

export function promiseParameters(name: OperationName, bad: readonly string[]): void {
  const asked = askedOf(name)

  test(`${name} without a connection is invalid_params, which names it`, async () => {
    const { service, user, operation } = asked()
    const answer = await service.get(operation.path, user)
    assert.equal(answer.status, 400)
    assert.equal(codeOf(answer), 'invalid_params')
    assert.equal(answer.body.error.message, 'Invalid request parameters')
    assert.match(answer.body.error.details.join(), /connectionId/)
    assert.equal(answer.headers['x-cache'], 'MISS')
  })

  for (const query of bad) {
    test(`R11: ${name}?…&${query} is invalid_params, which names it`, async () => {
      const { service, user, url } = asked()
      const answer = await service.get(`${url}&${query}`, user)
      assert.equal(answer.status, 400)
      assert.equal(codeOf(answer), 'invalid_params')
      const parameter = query.slice(0, query.indexOf('='))
      assert.match(answer.body.error.details.join(), new RegExp(`^${parameter}\\b`))
    })
  }
}
