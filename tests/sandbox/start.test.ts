/**
 * The start of the whole sandbox: the same seed gives the same people, and nothing is made before it is asked
 * for.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type MagicName, magicUsers, sandboxProviders } from '#sandbox/magic-users.ts'
import { type Sandbox, startOwnSandbox, startSandbox } from '#sandbox/start.ts'
import { makeStillClock } from '#tests/support/service.ts'

/** All data of a person, as it would be sent. */
function describe(sandbox: Sandbox, name: MagicName): string {
  const people = sandboxProviders.map((provider) => sandbox[provider].people[name])
  return JSON.stringify(people)
}

async function startTwo(seeds: readonly [string, string]) {
  const clock = makeStillClock()
  const [one, other] = await Promise.all(seeds.map((seed) => startSandbox({ clock, seed })))
  assert.ok(one !== undefined && other !== undefined)
  return {
    one,
    other,
    async [Symbol.asyncDispose]() {
      await Promise.all([one.close(), other.close()])
    },
  }
}

test('the same seed and clock give the same people and rows, another seed gives others', async () => {
  await using same = await startTwo(['a', 'a'])
  for (const { name } of magicUsers) {
    assert.equal(describe(same.one, name), describe(same.other, name), name)
  }
  await using different = await startTwo(['a', 'b'])
  for (const name of ['healthy', 'decimals', 'twins'] as const) {
    assert.notEqual(describe(different.one, name), describe(different.other, name), name)
  }
})

test('rows are made when first read, so that the start is cheap', async () => {
  const sandbox = await startSandbox({ clock: makeStillClock() })
  try {
    const isMade = (person: object, key: string) =>
      Object.getOwnPropertyDescriptor(person, key)?.get === undefined
    for (const { name } of magicUsers) {
      const at = {
        fiskil: 'consents',
        akahu: 'accounts',
        snaptrade: 'connections',
        up: 'accounts',
        simplefin: 'connections',
        enablebanking: 'accounts',
      } as const
      for (const provider of sandboxProviders) {
        const person = sandbox[provider].people[name]
        if (person !== undefined) assert.equal(isMade(person, at[provider]), false, name)
      }
    }
    const { history } = sandbox.snaptrade.people
    assert.equal(history.connections[0]?.accounts[0]?.activities.length, 5_400)
    assert.equal(isMade(history, 'connections'), true)
  } finally {
    await sandbox.close()
  }
})

test('when a port is taken, no listener stays open', async () => {
  const clock = makeStillClock()
  const first = await startSandbox({ clock })
  try {
    const port = Number(new URL(first.akahu.url).port)
    await assert.rejects(startSandbox({ clock, ports: { akahu: port } }), { code: 'EADDRINUSE' })
  } finally {
    await first.close()
  }
})

test("a service's sandbox has the same SimpleFIN address after a restart, and any other while it is taken", async () => {
  const clock = makeStillClock()
  const free = await startSandbox({ clock })
  const ports = { simplefin: Number(new URL(free.simplefin.url).port) }
  await free.close()
  const first = await startOwnSandbox(clock, ports)
  const second = await startOwnSandbox(clock, ports)
  assert.notEqual(second.simplefin.url, first.simplefin.url)
  await Promise.all([first.close(), second.close()])
  const again = await startOwnSandbox(clock, ports)
  assert.equal(again.simplefin.url, first.simplefin.url)
  await again.close()
})
