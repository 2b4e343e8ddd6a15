/** Accounts are found again by their hashes, one for one, and never as another account of the same person. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listHashes, pairAccounts } from './pair-accounts.ts'
import type { KeptAccount } from './secret.ts'

const listed = (...hashes: string[]) => ({
  identification_hash: hashes[0] ?? '',
  identification_hashes: hashes,
})

const kept = (id: string, ...hashes: string[]): KeptAccount => ({
  ...{ id, uid: null, name: null, type: null, tail: null, currency: null, holder: null },
  hashes: [...listHashes(listed(...hashes))],
})

const idsOf = (all: readonly ReturnType<typeof listed>[], known: readonly KeptAccount[]) => {
  const pairs = pairAccounts(all, known)
  return all.map((one) => pairs.get(one)?.id ?? null)
}

test('an account whose hash changed is found by another one of it', () => {
  const known = [kept('A', 'a', 'a-iban'), kept('B', 'b', 'b-iban')]
  assert.deepEqual(idsOf([listed('b2', 'b-iban'), listed('a2', 'a-iban')], known), ['B', 'A'])
})

test('a hash that accounts share, e.g. of the name, joins no two of them: a new account stays new', () => {
  const known = [kept('A', 'a', 'name')]
  assert.deepEqual(idsOf([listed('c', 'name'), listed('a', 'name')], known), [null, 'A'])
  const both = [kept('A', 'a', 'name'), kept('B', 'b', 'name')]
  assert.deepEqual(idsOf([listed('b2', 'name'), listed('a', 'name')], both), [null, 'A'])
})

test('the id that was kept over an earlier change is found by the newest hash', () => {
  const known = [kept('A', 'a2', 'name'), kept('B', 'b', 'name')]
  assert.deepEqual(idsOf([listed('b', 'name'), listed('a2', 'name')], known), ['B', 'A'])
})
