/** The checker that the admin tests hold answers against must itself be able to fail. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkAdminAnswer } from '#tests/support/admin-answers.ts'

const headers = { 'content-type': 'application/json; charset=utf-8', 'x-request-id': 'f3b6' }
const list = { method: 'GET', url: '/admin/users/a%40b.example/webhooks?x=1' }
const remove = { method: 'DELETE', url: '/admin/webhooks/x' }

test('an answer that fits is accepted, and so is what the document does not describe', () => {
  checkAdminAnswer(list, { status: 200, headers, body: { data: [] } })
  checkAdminAnswer(remove, { status: 204, headers, body: null })
  const gone = { error: { message: 'no', code: 'webhook_not_found' } }
  checkAdminAnswer(remove, { status: 404, headers, body: gone })
  checkAdminAnswer({ method: 'GET', url: '/healthz' }, { status: 299, headers, body: 1 })
})

test('a further or missing field, another status, a body where none is due and an undocumented code are refused', () => {
  const refused = (asked: typeof list, status: number, body: unknown, problem: RegExp) =>
    assert.throws(() => checkAdminAnswer(asked, { status, headers, body }), problem)
  refused(list, 200, { data: [], more: 1 }, /must NOT have additional properties \(more\)/)
  refused(list, 200, { data: [{ id: 'x' }] }, /must have required property 'url'/)
  refused(list, 201, { data: [] }, /status is not documented/)
  refused(remove, 204, {}, /there is a body/)
  refused(remove, 404, { error: { message: 'no', code: 'key_not_found' } }, /code key_not_found/)
  refused(remove, 404, { error: { message: 'no' } }, /code \(none\)/)
})

test('an answer without its id or its type is refused', () => {
  const body = { data: [] }
  const without = (name: keyof typeof headers) => ({ ...headers, [name]: undefined })
  const check = (name: keyof typeof headers) => () =>
    checkAdminAnswer(list, { status: 200, headers: without(name), body })
  assert.throws(check('x-request-id'), /X-Request-Id is missing/)
  assert.throws(check('content-type'), /is not JSON/)
})
