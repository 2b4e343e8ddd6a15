import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { approve, connect, getCode, makePkce, redeem, refresh, registerClient } from './dance.ts'
import { startWorld } from './world.ts'

/** Every file of the store, the log of changes included. */
function readFiles(folder: string): Buffer {
  const files = readdirSync(folder).map((name) => join(folder, name))
  return Buffer.concat(files.filter((file) => statSync(file).isFile()).map((f) => readFileSync(f)))
}

// Comes first: what the engine says when it is loaded is said once in a process.
test('nothing is printed: not by the engine, not on behalf of anybody', async (context) => {
  const printed: unknown[] = []
  for (const method of ['log', 'info', 'warn', 'error'] as const)
    context.mock.method(console, method, (...words: unknown[]) => printed.push(words))
  const world = await startWorld()
  context.after(() => world.close())
  const tokens = await connect(world, await world.addPerson())
  await refresh(world, tokens)
  await refresh(world, tokens)
  await redeem(world, { clientId: 'nobody', code: 'x', verifier: 'y' })
  assert.deepEqual(printed, [])
})

test('no token, code, verifier, challenge or state lies in the store’s files, redeemed or not', async (t) => {
  const world = await startWorld()
  t.after(() => world.close())
  const person = await world.addPerson()
  const clientId = await registerClient(world)
  const tokens = await connect(world, person, { clientId })
  const next = (await refresh(world, tokens)).body
  const waiting = await getCode(world, await world.addPerson())
  const redeemed = await getCode(world, await world.addPerson())
  await redeem(world, redeemed)
  const { verifier, challenge } = makePkce()
  const state = 'canary-of-a-state'
  const asked = { clientId, challenge, over: { state } }
  const code = (await approve(world, asked, { person: await world.addPerson() })).get('code')
  const hidden = [
    tokens.access_token,
    tokens.refresh_token,
    next.access_token,
    next.refresh_token,
    waiting.code,
    waiting.verifier,
    redeemed.code,
    redeemed.verifier,
    code ?? '',
    verifier,
    challenge,
    state,
  ]
  const bytes = readFiles(world.dataDir)
  // Proof that the search would find what is there: client ids are no secret, and name their grants; neither
  // are the names of clients, which the audit keeps.
  assert.ok(bytes.includes(clientId))
  for (const text of hidden) {
    assert.ok(text.length > 10)
    for (const form of [
      text,
      Buffer.from(text).toString('hex'),
      Buffer.from(text).toString('base64'),
    ])
      assert.ok(!bytes.includes(form), text)
    const decoded = Buffer.from(text, 'base64url')
    if (decoded.byteLength >= 30) assert.ok(!bytes.includes(decoded), text)
  }
})
