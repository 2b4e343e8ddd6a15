/** Whose time a refresh has: the provider's, or that of our own read of an active connection. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ConnectionStatus } from '#contract/resources.ts'
import { upstreamId } from '#kernel/ids.ts'
import type { DiscoveredConnection } from '#providers/port.ts'
import { readRefreshedAt } from './refreshed-at.ts'

const now = Date.UTC(2026, 10, 20)
const clock = { now: () => now }

function discovered(status: ConnectionStatus, over: Partial<DiscoveredConnection> = {}) {
  return {
    upstreamId: upstreamId('consent'),
    institutionId: '22',
    institutionName: null,
    institutionLogo: null,
    status,
    lastRefreshedAt: null,
    accounts: [],
    ...over,
  }
}

test('only an active connection whose accounts were read counts as refreshed by our own read', () => {
  const read = { freshness: 'reads' } as const
  const ours = { at: now, isReported: false }
  assert.deepEqual(readRefreshedAt(read, discovered('active'), clock), ours)
  assert.equal(readRefreshedAt(read, discovered('active', { accounts: null }), clock), null)
  for (const status of ['invalidated', 'pending_mfa', 'revoked'] as const) {
    assert.equal(readRefreshedAt(read, discovered(status), clock), null, status)
  }
  assert.equal(readRefreshedAt({ freshness: 'reported' }, discovered('active'), clock), null)
})

test('a time that the provider reports is used whatever the status', () => {
  const found = discovered('revoked', { lastRefreshedAt: '2026-11-19T00:00:00Z' })
  const wanted = { at: Date.UTC(2026, 10, 19), isReported: true }
  assert.deepEqual(readRefreshedAt({ freshness: 'reads' }, found, clock), wanted)
})
