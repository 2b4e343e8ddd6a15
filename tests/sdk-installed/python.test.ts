/**
 * The Python client as somebody installs it: from its folder, without a package index, with nothing but
 * Python.
 */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { EventId } from '#kernel/ids.ts'
import { mintSecret, signatureHeaders } from '#webhooks/sign.ts'
import { firstExample, openPerson, root, run } from './readme.ts'

const source = join(root, 'sdk/python')

async function install(
  t: TestContext,
): Promise<{ readonly folder: string; readonly python: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'tributary-sdk-'))
  t.after(() => rm(folder, { recursive: true }))
  await run('python3', ['-m', 'venv', 'here'], { cwd: folder })
  const python = join(folder, 'here/bin/python')
  await run(python, ['-m', 'pip', 'install', '--quiet', '--no-index', source], { cwd: folder })
  return { folder, python }
}

test('installed without an index, the first example of its README sums a year to the cent', async (t) => {
  const { env, line } = await openPerson(t)
  const { folder, python } = await install(t)
  await writeFile(join(folder, 'example.py'), firstExample('sdk/python/README.md', 'python'))
  assert.equal(await run(python, ['example.py'], { cwd: folder, env }), line)
})

test('its own tests pass', async (t) => {
  const { folder, python } = await install(t)
  await run(python, ['-m', 'unittest', 'discover', '-s', join(source, 'tests')], { cwd: folder })
})

const verifying = `
import json, os
from tributary_client import TransactionsSynced, webhooks
given = json.loads(os.environ["VECTOR"])
event = webhooks.verify(given["body"], given["headers"], given["secret"], now=given["now"])
assert isinstance(event, TransactionsSynced)
print(event.data.new[0].amount)
`

test('it verifies an event that the service signed', async (t) => {
  const { folder, python } = await install(t)
  const [timestamp, amount] = [1_795_144_560, '-90071992547409931005']
  const id = '5f0c9a52-3f0e-4a57-9a3f-0d5b7a3a2a10' as EventId
  const row = { ...transaction, amount: 0 }
  const event = { ...envelope, id, data: { new: [row], updated: [] } }
  const body = JSON.stringify(event).replace('"amount":0', `"amount":${amount}`)
  const secret = mintSecret()
  const headers = signatureHeaders({ id, timestamp, body: new Uint8Array(Buffer.from(body)) }, [
    secret,
  ])
  const vector = JSON.stringify({ body, headers, secret, now: timestamp })
  const read = await run(python, ['-c', verifying], { cwd: folder, env: { VECTOR: vector } })
  assert.equal(read.trim(), amount)
})

test('its types are right by mypy, the strict way', async () => {
  await run('mypy', [], { cwd: source })
})

const transaction = {
  id: 't1',
  object: 'transaction',
  currency: 'aud',
  status: 'posted',
  description: 'GREENGROCER',
  direction: 'debit',
  class: 'payment',
  account_id: '1b4e28ba-2fa1-41d2-883f-0016d3cca427',
  account_name: 'Everyday',
  account: 'Everyday',
  local_date: '2026-11-20',
  transaction_date: '2026-11-19T21:04:31Z',
  post_date: '2026-11-20T02:00:00Z',
  merchant_name: null,
  category: null,
  merchant_category_code: null,
  reference: null,
  extended_description: null,
}
const envelope = {
  object: 'event',
  type: 'transactions.synced',
  api_version: '2026-11-01',
  created: 1_795_144_560,
  metadata: { sync_run_id: null, new_count: 1, updated_count: 0, chunk: 1, total_chunks: 1 },
}
