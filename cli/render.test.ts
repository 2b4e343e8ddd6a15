/** Answers as people read them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { commandExtras } from './command-extras.ts'
import { render } from './render.ts'

test('R43: the list of keys says which are narrow, and until when a former secret is good', () => {
  const wide = { scopes: null, connectionIds: null, accountIds: null, addresses: null }
  const narrow = {
    ...{ scopes: ['events', 'accounts'], connectionIds: ['c'], accountIds: null },
    ...{ addresses: ['10.0.0.0/8', 'fd00::/8'], formerUntil: '2026-11-28T00:00:00.000Z' },
  }
  const { show } = commandExtras.listKeys ?? {}
  assert.ok(show !== undefined)
  const text = render(show, {
    data: [
      { id: 'k1', ...wide },
      { id: 'k2', ...narrow },
    ],
  })
  const [, first = '', second = ''] = text.split('\n')
  assert.doesNotMatch(first, /scopes|connections/)
  assert.match(second, /scopes events accounts, connections 1, addresses 2 .*2026-11-28T00:00/)
})
