/** 404, the same for every operation: other methods and other spellings of its path (readings R3 and R4). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { request } from 'undici'
import type { OperationName } from '#contract/operations.ts'
import { codeOf } from '#tests/support/service.ts'
import { askedOf } from './operation.ts'

const methods = ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD'] as const

export function promiseUnknown(name: OperationName): void {
  const asked = askedOf(name)

  test(`R3: ${name} by another method is not_found, with a key and without`, async () => {
    const { service, user, url } = asked()
    for (const method of methods) {
      for (const headers of [{}, { authorization: `Bearer ${user.key}` }]) {
        const answer = await request(service.baseUrl + url, { method, headers })
        const text = await answer.body.text()
        assert.equal(answer.statusCode, 404, method)
        assert.equal(answer.headers['x-cache'], 'BYPASS', method)
        if (method !== 'HEAD') assert.equal(JSON.parse(text).error.code, 'not_found', method)
      }
    }
  })

  test(`R4: another spelling of the path of ${name} is not_found`, async () => {
    const { service, user, operation } = asked()
    const { path } = operation
    const spellings = [
      `${path}/`,
      path.replace('/v1/', '/v1//'),
      path.replace('/v1/', '/V1/'),
      path.toUpperCase(),
    ]
    for (const spelling of spellings) {
      const answer = await service.get(spelling, user)
      assert.equal(answer.status, 404, spelling)
      assert.equal(codeOf(answer), 'not_found', spelling)
      assert.equal(answer.headers['x-cache'], 'BYPASS', spelling)
    }
  })
}
