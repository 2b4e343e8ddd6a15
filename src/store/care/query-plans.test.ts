/**
 * Background work and the start query tables that grow over the years. `explain query plan` of SQLite must
 * show an index search for each of their queries: the cost of a search grows with its matches, that of a scan
 * with the table.
 */

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { type ConnectionId, type LoginId, newId, type UserId } from '#kernel/ids.ts'
import { reconnectDueAt } from '#mail/reconnect-due.ts'
import { newOAuthRow } from '#tests/contract/store/rows.ts'
import { assertSearches, openPlanStage } from '#tests/support/query-plans.ts'
import { makeAccountStore } from '../connections/accounts.ts'
import { makeConnectionEventStore } from '../connections/connection-events.ts'
import { makeConnectionStore } from '../connections/connections.ts'
import { makeLinkingStore } from '../connections/linkings.ts'
import { makeLoginStore } from '../connections/logins.ts'
import { makeProviderCallStore } from '../connections/provider-calls.ts'
import type { Engine, Write } from '../engine/engine.ts'
import { makeMailStore } from '../mails/mails.ts'
import { makeAuditLog } from '../people/audit.ts'
import { makeOAuthStore } from '../people/oauth.ts'
import { makeSessionStore } from '../people/sessions.ts'
import { makeSingleUseStore } from '../people/single-use.ts'
import { makeUsageStore } from '../people/usage.ts'
import { makeUserStore } from '../people/users.ts'
import { makeSealer } from '../seal.ts'
import { listKeys, sealedTables } from './sealed-tables.ts'

const sealer = makeSealer([new Uint8Array(32)])
const mails = { reconnectDueAt, sealer, now: () => 1 }
let engine: Engine
let write: Write
const plansOf = (work: () => Promise<unknown>) => stage.plansOf(work)

const stage = await openPlanStage()
;({ engine, write } = stage)
after(() => stage.close())

test('the sweep of sessions reads those that have ended, not all', async () => {
  const sessions = makeSessionStore({ engine, write })
  const plans = await plansOf(() => sessions.sweep({ seenBefore: 2, createdBefore: 1 }))
  assertSearches(plans, ['sessions_by_last_seen', 'sessions_by_age'])
  for (const plan of plans) assert.match(plan, /\((last_seen_at|created_at)<\?\)/)
})

test('the sweep of begun links reads those that have expired, and the open one of a login is one search', async () => {
  const linkings = makeLinkingStore({ engine, write })
  const plans = await plansOf(async () => {
    await linkings.sweep(1)
    await linkings.findOpen(newId<LoginId>(), 1)
  })
  assertSearches(plans, ['link_attempts_by_expiry', 'link_attempts_of_login'])
  assert.match(plans[0] ?? '', /\(expires_at<\?\)/)
})

test('the sweep of counted requests reads those of old days, and a user’s own are one search of each table', async () => {
  const usage = makeUsageStore({ engine, write })
  assertSearches(await plansOf(() => usage.sweep(1, 10)), [
    'usage_by_reader_by_day',
    'usage_days_by_day',
  ])
  const plans = await plansOf(async () => {
    await usage.list(newId<UserId>(), 1)
    await usage.listReaders(newId<UserId>(), 1)
  })
  assert.equal(plans.length, 2)
  for (const plan of plans)
    for (const table of ['usage_by_reader', 'usage_days'])
      assert.match(plan, new RegExp(`SEARCH ${table} USING INDEX sqlite_autoindex_${table}_1`))
})

test('the calls of one budget are one search, and their sweep reads old ones, not all', async () => {
  const calls = makeProviderCallStore({ engine, write })
  assertSearches(await plansOf(() => calls.list('budget:one', { since: 1, until: 2 })), [
    'provider_calls_of_name',
  ])
  assertSearches(await plansOf(() => calls.sweep(1, 10)), ['provider_calls_by_time'])
})

test('the sweep of grants and tokens reads those that have expired, not all', async () => {
  const oauth = makeOAuthStore({ engine, write, sealer })
  const plans = await plansOf(() => oauth.sweep(1, 10))
  assertSearches(plans, ['oauth_grants_by_expiry', 'oauth_rows_by_expiry'])
  for (const plan of plans) assert.match(plan, /\(expires_at<\?\)/)
})

test('a request that shall wait counts those of its origin and those in all, and reads no other rows', async () => {
  const oauth = makeOAuthStore({ engine, write, sealer })
  const row = newOAuthRow({ model: 'Interaction', origin: new Uint8Array(32) })
  const plans = await plansOf(() => oauth.savePending(row, { at: 1, ofOrigin: 5, inAll: 9 }))
  await oauth.delete(row.model, row.id)
  assert.match(
    plans[1] ?? '',
    /USING (COVERING )?INDEX oauth_requests_of_origin \(origin=\? AND expires_at>\?\)/,
  )
  assert.match(plans[2] ?? '', /USING (COVERING )?INDEX oauth_requests_by_expiry \(expires_at>\?\)/)
})

test('where no more requests may wait, those of networks are counted and replaced without a read of others', async () => {
  const oauth = makeOAuthStore({ engine, write, sealer })
  const pending = (of: number) =>
    newOAuthRow({ model: 'Interaction', origin: new Uint8Array(32).fill(of) })
  const bounds = { at: 1, ofOrigin: 5, inAll: 3 }
  const rows = [pending(1), pending(1), pending(1), pending(2)]
  for (const row of rows.slice(0, 3)) await oauth.savePending(row, bounds)
  const plans = await plansOf(() => oauth.savePending(rows[3] ?? pending(2), bounds))
  for (const row of rows) await oauth.delete(row.model, row.id)
  const [ofAll, ofOwn, replaced] = plans.slice(3)
  assert.match(ofAll ?? '', /^SCAN oauth_rows USING (COVERING )?INDEX oauth_requests_of_network/)
  for (const plan of [ofOwn, replaced]) {
    assert.match(plan ?? '', /INDEX oauth_requests_of_network \(<expr>=\? AND expires_at>\?\)/)
  }
  assert.doesNotMatch(plans.join(), /GROUP BY/)
})

test('whether a user has a grant to a client is one search', async () => {
  const oauth = makeOAuthStore({ engine, write, sealer })
  const plans = await plansOf(() => oauth.hasGrant(newId<UserId>(), 'agent'))
  assertSearches(plans, ['oauth_grants_of_user'])
})

test('the sweeps of the audit read what they sweep alone, and lists read no more than a page', async () => {
  const log = makeAuditLog({ db: engine.db, write })
  const bounds = { before: 1, ofUser: 1, ofNobody: 1, limit: 9 }
  for (const [kind, index] of [
    ['refusals', 'audit_refused'],
    ['sessions', 'audit_sessions'],
  ] as const) {
    const [aged = '', crowded = ''] = await plansOf(() => log.sweep(kind, bounds))
    assert.match(aged, new RegExp(`USING (COVERING )?INDEX ${index}_by_time \\(at<\\?\\)`))
    assert.match(crowded, new RegExp(`USING (COVERING )?INDEX ${index}_of_user`))
  }
  const users = makeUserStore({ engine, write })
  const pages = await plansOf(async () => {
    await users.listPage({ after: { createdAt: 1, id: newId<UserId>() }, limit: 9 })
    await log.list({ userId: null, after: { at: 1, id: newId() }, limit: 9 })
    await log.list({ userId: newId<UserId>(), after: null, limit: 9 })
  })
  assert.match(pages[0] ?? '', /INDEX users_by_age/)
  assert.match(pages[1] ?? '', /INDEX audit_by_time/)
  assert.match(pages[2] ?? '', /INDEX audit_of_user \(user_id=\?\)/)
})

test('the sweep of deletions reads the connections that wait, not all', async () => {
  const connections = makeConnectionStore({ engine, write, mails })
  const plans = await plansOf(async () => {
    await connections.listDeleting({ after: null, limit: 10 })
    await connections.listDeleting({ after: newId<ConnectionId>(), limit: 10 })
  })
  // The partial index contains only `deleting` rows, so reading it in order reads nothing else.
  for (const plan of plans) assert.match(plan, /USING INDEX connections_deleting\b/)
  for (const plan of plans) assert.doesNotMatch(plan, /TEMP B-TREE/)
  assert.match(plans[1] ?? '', /SEARCH connections USING INDEX connections_deleting \(id>\?\)/)
})

test('the accounts of one connection are a search of that connection, however many its owner has', async () => {
  const accounts = makeAccountStore({ engine, write })
  const [plan = ''] = await plansOf(() =>
    accounts.listByConnection(newId<UserId>(), newId<ConnectionId>()),
  )
  assert.match(plan, /SEARCH accounts USING INDEX sqlite_autoindex_accounts_2 \(connection_id=\?\)/)
})

test('consents that end soon are found by a search, in order', async () => {
  const connections = makeConnectionStore({ engine, write, mails })
  const after = { consentExpiresAt: 1, id: newId<ConnectionId>() }
  const plans = await plansOf(async () => {
    await connections.listExpiring({ before: 2, after: null, limit: 10 })
    await connections.listExpiring({ before: 2, after, limit: 10 })
  })
  assertSearches(plans, Array(2).fill('connections_by_consent_expiry'))
  for (const plan of plans) assert.doesNotMatch(plan, /TEMP B-TREE/)
})

test('R41: ends of consents that are to be announced, and events that wait, are read in the order of an index', async () => {
  const store = makeConnectionEventStore({ engine, write })
  const after = { consentExpiresAt: 1, id: newId<ConnectionId>() }
  const [ends, waiting] = await plansOf(async () => {
    await store.listExpiring({ before: 2, after, limit: 10 })
    await store.listWaiting(10)
  })
  assert.match(ends ?? '', /SEARCH connections USING INDEX connections_by_consent_expiry/)
  assert.match(
    ends ?? '',
    /SEARCH webhook_endpoints (?:EXISTS )?USING INDEX webhook_endpoints_of_user/,
  )
  assert.match(waiting ?? '', /SCAN connection_events USING INDEX/)
  for (const plan of [ends, waiting]) assert.doesNotMatch(plan ?? '', /TEMP B-TREE/)
})

test('the change of keys reads the rows under older keys, and the keys in use in one step each', async () => {
  const plans = await plansOf(async () => {
    for (const table of sealedTables) {
      await listKeys(engine, table)
      await table.list(engine, sealer, { key: 'aa', after: null, limit: 10 })
      await table.list(engine, sealer, { key: 'aa', after: newId(), limit: 10 })
    }
  })
  assertSearches(plans, [
    ...Array(3).fill('logins_by_secret_key'),
    ...Array(3).fill('oauth_grants_by_payload_key'),
    ...Array(3).fill('oauth_rows_by_payload_key'),
    ...Array(3).fill('ledger_keys_by_secret_key'),
    ...Array(3).fill('second_factors_by_secret_key'),
    ...Array(3).fill('webhook_endpoints_by_secret_key'),
    ...Array(3).fill('event_keys_by_secret_key'),
    ...Array(3).fill('mails_by_payload_key'),
  ])
})

test('the logins of a person at a provider are found by a search, in order', async () => {
  const logins = makeLoginStore({ engine, write, sealer })
  const person = { provider: 'fiskil', upstreamUserId: 'eu_1', limit: 10 } as const
  assertSearches(await plansOf(() => logins.listByUpstream(person)), ['logins_by_upstream'])
})

test('the sweep of deletions reads the users who are being deleted, not all', async () => {
  const users = makeUserStore({ engine, write })
  const plans = await plansOf(() => users.listDeleting({ before: 1, limit: 10 }))
  assert.match(plans[0] ?? '', /SEARCH users USING (?:COVERING )?INDEX users_deleting/)
  for (const plan of plans) assert.doesNotMatch(plan, /TEMP B-TREE/)
})

test('mails and tokens that are due, counted or swept are found by a search', async () => {
  const store = makeMailStore({ engine, write, mails })
  const singleUse = makeSingleUseStore({ engine, write })
  const [claim = '', wake = '', old = ''] = await plansOf(async () => {
    await store.claim({ now: 1, leaseMs: 1, limit: 5 })
    await store.sweep({ before: 1, now: 1, latestDue: 2, limit: 5 })
  })
  assert.match(claim, /INDEX mails_due \(due_at>\? AND due_at<\?\)/)
  assert.match(wake, /INDEX mails_due \(due_at>\?\)/)
  assert.match(old, /INDEX mails_by_age \(created_at<\?\)/)
  const matter = { kind: 'key-created', name: 'x', byOperator: false } as const
  const userId = newId<UserId>()
  const [count = ''] = await plansOf(() =>
    store.queue({ key: 'k', userId, matter, at: 1 }).catch(() => {}),
  )
  assert.match(count, /INDEX mails_of_user \(user_id=\? AND created_at>\?\)/)
  const token = {
    kind: 'invitation',
    hash: new Uint8Array(32),
    userId: null,
    email: 'a@b',
  } as const
  const [since = '', older = ''] = await plansOf(() =>
    singleUse.create({ ...token, createdAt: 1, expiresAt: 2 }, { since: 0, limit: 9 }),
  )
  for (const plan of [since, older]) assert.match(plan, /INDEX mailed_links_of_email/)
  assertSearches(await plansOf(() => singleUse.sweep({ before: 1, limit: 5 })), [
    'mailed_links_by_expiry',
  ])
})
