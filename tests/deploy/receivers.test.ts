/**
 * The receivers of `examples/` against messages signed as ours are. Each runs where its language is on the
 * machine: TypeScript always, Python and Go where `python3` and `go` are found, as examples/README.md says.
 */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { request } from 'undici'
import { type ConnectionId, newId, type SyncRunId, type UserId } from '#kernel/ids.ts'
import { makeEvents } from '#webhooks/envelope.ts'
import { mintSecret, signatureHeaders } from '#webhooks/sign.ts'

const folder = fileURLToPath(new URL('../../examples/', import.meta.url))
const runs = (command: string, ...args: string[]) => spawnSync(command, args).status === 0

const receivers: readonly { readonly language: string; readonly command: readonly string[] }[] = [
  { language: 'TypeScript', command: [process.execPath, 'receive-webhooks.ts'] },
  ...(runs('python3', '--version')
    ? [{ language: 'Python', command: ['python3', 'receive-webhooks.py'] }]
    : []),
  ...(runs('go', 'version')
    ? [{ language: 'Go', command: ['go', 'run', 'receive-webhooks.go'] }]
    : []),
]

const nowSeconds = () => Math.floor(Date.now() / 1000)

async function start(t: TestContext, [program = '', ...args]: readonly string[], secret: string) {
  const child = spawn(program, args, {
    cwd: folder,
    env: { ...process.env, WEBHOOK_SECRET: secret, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: 120_000,
    // `go run` passes no signal on: the whole group is ended.
    detached: true,
  })
  t.after(() => {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL')
  })
  const lines: string[] = []
  const reader = createInterface({ input: child.stdout })
  reader.on('line', (line) => lines.push(line))
  await Promise.race([once(reader, 'line'), once(child, 'close')])
  const port = /^listening on port (\d+)$/.exec(lines[0] ?? '')?.[1]
  assert.ok(port, `it did not start: ${lines.join('\n')}`)
  return { url: `http://127.0.0.1:${port}/`, lines }
}

for (const { language, command } of receivers)
  test(`the receiver in ${language} takes what is signed with either secret of a rotation, once, with every digit of an amount, and refuses everything else`, async (t) => {
    const [secret, other] = [mintSecret(), mintSecret()]
    const { url, lines } = await start(t, command, secret)
    const [event] = makeEvents({
      userId: newId<UserId>(),
      connectionId: newId<ConnectionId>(),
      runId: newId<SyncRunId>(),
      type: 'transactions.synced',
      createdAt: Date.now(),
      new: [
        '{"amount":9007199254740993,"currency":"aud"}',
        '{"description":"café ☕","amount":-90071992547409931234,"currency":"jpy"}',
      ],
      updated: [],
    })
    assert.ok(event)
    const { id, body } = event
    const send = async (secrets: readonly string[], timestamp = nowSeconds(), text = body) => {
      const headers = signatureHeaders({ id, timestamp, body }, secrets)
      const options = { method: 'POST', headers: { ...headers }, body: text } as const
      const response = await request(url, options)
      await response.body.dump()
      return response.statusCode
    }
    assert.equal(await send([other, secret]), 204)
    assert.equal(await send([secret]), 204)
    assert.equal(await send([other]), 401)
    assert.equal(await send([secret], nowSeconds() - 400), 401)
    assert.equal(await send([secret], nowSeconds() + 400), 401)
    assert.equal(await send([secret], nowSeconds(), Buffer.concat([body, Buffer.from(' ')])), 401)
    const bare = await request(url, { method: 'POST', body: '{}' })
    await bare.body.dump()
    assert.equal(bare.statusCode, 401)
    assert.deepEqual(lines.slice(1), [
      'transactions.synced: 2 new, 0 updated',
      '  9007199254740993 aud',
      '  -90071992547409931234 jpy',
    ])
  })
