/** What operators read of providers where nobody is linked. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { renderProviders } from './work-page.ts'

test('R36: a provider that limits the calls of each account is not said to have no limit', () => {
  const nothing = { standing: null, findings: [], exchanges: 0, failures: 0, alerts: 0 }
  const text = String(renderProviders([{ provider: 'enablebanking', ...nothing }]))
  assert.match(text, /4 a day for each account, 2 of them for people/)
})
