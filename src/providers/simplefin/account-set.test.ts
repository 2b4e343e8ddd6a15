import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readAccountSet, readRows } from './account-set.ts'

test('R24: amounts that a server sends as numbers are read with every digit', () => {
  const body = `{ "accounts": [{ "id": "a", "conn_id": "c", "name": "n", "currency": "USD",
    "balance": 12345678901234567890.10, "available-balance": 12.50,
    "transactions": [{ "id": "1", "posted": 1763640000, "amount": -1.10 }] }] }`
  const [account] = readAccountSet(Buffer.from(body)).accounts
  assert(account !== undefined)
  assert.equal(account.balance, '12345678901234567890.10')
  assert.equal(account['available-balance'], '12.50')
  assert.deepEqual(
    readRows(account).map(({ amount }) => amount),
    ['-1.10'],
  )
})
