/** The command `connections remove`: a removal that waits for its provider is not called done. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { runCommand } from '#tests/support/command.ts'

/** What the command prints where the server answers 204 with these headers. */
async function remove(
  t: TestContext,
  headers: Readonly<Record<string, string>>,
  ...args: string[]
): Promise<readonly [number, string]> {
  const server = createServer((_request, response) => response.writeHead(204, headers).end())
  server.listen(0, '127.0.0.1')
  t.after(() => server.close())
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  const environment = {
    ADMIN_URL: `http://127.0.0.1:${port}`,
    ADMIN_TOKEN: 'a-token-of-the-operator',
  }
  const { code, out, err } = await runCommand(['connections', 'remove', 'c', ...args], {
    environment,
  })
  assert.equal(err, '')
  return [code, out]
}

const waits = { 'x-connection-status': 'deleting' }

test('connections remove says whether the consent has ended at its provider, or that this is tried again', async (t) => {
  assert.deepEqual(await remove(t, {}), [0, 'The connection is removed.\n'])
  const [code, out] = await remove(t, waits)
  assert.deepEqual(
    [code, /has not ended the consent yet: that is tried again/.test(out)],
    [0, true],
  )
})

test('with --json the removal that waits is a document', async (t) => {
  assert.deepEqual(await remove(t, waits, '--json'), [0, '{"status":"deleting"}\n'])
  assert.deepEqual(await remove(t, {}, '--json'), [0, '{}\n'])
})
