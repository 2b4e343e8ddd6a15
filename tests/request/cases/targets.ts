/**
 * 404 of operations that name a connection: what is not there, or is not the caller's (contract, Errors; R3,
 * R12).
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { OperationName } from '#contract/operations.ts'
import { codeOf } from '#tests/support/service.ts'
import { askedOf } from './operation.ts'

const nobodys = '7f0c9a52-3f0e-4a57-9a3f-0d5b7a3a2a10'

export function promiseTargets(name: OperationName): void {
  const asked = askedOf(name)

  test(`R12: ${name}: an unknown, another user’s and a malformed connection id get the same 404`, async () => {
    const { service, user, operation, url } = asked()
    const stranger = await service.createUser()
    const unknown = await service.get(`${operation.path}?connectionId=${nobodys}`, user)
    const senseless = await service.get(`${operation.path}?connectionId=x'--`, user)
    const foreign = await service.get(url, stranger)
    for (const answer of [unknown, senseless, foreign]) {
      assert.equal(answer.status, 404)
      assert.equal(codeOf(answer), 'connection_not_found')
      assert.equal(answer.text, unknown.text)
    }
  })

  test(`R12: ${name}: an unknown account of a connection that is there is account_not_found`, async () => {
    const { service, user, url } = asked()
    const connection = new URL(url, service.baseUrl).searchParams.get('connectionId')
    const path = url.slice(0, url.indexOf('?'))
    for (const id of [nobodys, 'x']) {
      const answer = await service.get(`${path}?connectionId=${connection}&accountId=${id}`, user)
      assert.equal(answer.status, 404)
      assert.equal(codeOf(answer), 'account_not_found')
    }
  })
}
