/**
 * Whatever is done in whatever order: no token is another person's, wider than its consent, or alive after
 * its end.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import fc from 'fast-check'
import type { Scope } from '#auth/scopes.ts'
import { byOperator } from '#contract/actor.ts'
import type { UserId } from '#kernel/ids.ts'
import { connect, getCode, redeem, refresh, registerClient, revoke, type Tokens } from './dance.ts'
import { startWorld } from './world.ts'

interface Held extends Tokens {
  readonly clientId: string
  readonly person: UserId
  readonly allowed: readonly Scope[]
  /** One object for everything of one consent. */
  readonly consent: Consent
}

/** What the model knows of a consent; `ended` once anything happened that ends it. */
interface Consent {
  ended: boolean
}

const step = fc.record({
  action: fc.constantFrom(
    'connect',
    'refresh',
    'narrow',
    'reuse',
    'revoke',
    'disconnect',
    'foreign',
    'replay',
  ),
  who: fc.nat(1),
  which: fc.nat(20),
  scopes: fc.constantFrom<readonly Scope[]>(
    ['mcp:read'],
    ['brokerage:read'],
    ['mcp:read', 'brokerage:read'],
  ),
})
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

const world = await startWorld()
after(async () => {
  await world.close()
  assert.deepEqual(world.failures, [])
})

test('R28: no sequence of steps makes a token valid for another user or wider than its grant', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
      const people = [await world.addPerson(), await world.addPerson()]
      const clients = [await registerClient(world), await registerClient(world)]
      const held: Held[] = []
      for (const one of steps) {
        const person = people[one.who]
        const clientId = clients[one.which % 2]
        assert.ok(person && clientId)
        await act(one, { person, clientId, held, strangers: people })
        for (const token of held) await check(token)
      }
    }),
    { numRuns: 40 },
  )
})

interface Scene {
  readonly person: UserId
  readonly clientId: string
  readonly held: Held[]
  readonly strangers: readonly UserId[]
}

async function act(one: Step, scene: Scene): Promise<void> {
  const { person, clientId, held } = scene
  const token = held.length === 0 ? undefined : held[one.which % held.length]
  if (one.action === 'connect' || one.action === 'replay' || token === undefined) {
    return one.action === 'replay' ? replay(one, scene) : connectAnew(one, scene)
  }
  switch (one.action) {
    case 'refresh':
    case 'narrow':
      return refreshOnce(one, token, held)
    case 'reuse':
      // The first of these may be its first use; the second never is.
      await refresh(world, token)
      await refresh(world, token)
      token.consent.ended = true
      return
    case 'revoke':
      await revoke(world, token.clientId, token.access_token)
      if ((await world.oauth.tokens.find(token.access_token)) === null) token.consent.ended = true
      return
    case 'disconnect': {
      const agents = await world.oauth.agents.list(person)
      for (const { grantId } of agents)
        await world.oauth.agents.disconnect(byOperator, person, { grantId })
      for (const other of held) if (other.person === person) other.consent.ended = true
      return
    }
    case 'foreign': {
      const reply = await refresh(world, { ...token, clientId: foreignTo(token, clientId) })
      assert.notEqual(reply.status, 200)
      return
    }
  }
}

function foreignTo(token: Held, clientId: string): string {
  return clientId === token.clientId ? 'nobody' : clientId
}

async function connectAnew(one: Step, { person, clientId, held }: Scene): Promise<void> {
  const tokens = await connect(world, person, { clientId, scopes: [...one.scopes] })
  replaceFormer(held, person, clientId)
  held.push({ ...tokens, person, allowed: one.scopes, consent: { ended: false } })
}

/** A code that is redeemed twice: the first client loses its tokens. */
async function replay(one: Step, { person, clientId, held }: Scene): Promise<void> {
  const code = await getCode(world, person, { clientId, scopes: [...one.scopes] })
  replaceFormer(held, person, clientId)
  const { body } = await redeem(world, code)
  await redeem(world, code)
  held.push({ ...body, clientId, person, allowed: one.scopes, consent: { ended: true } })
}

function replaceFormer(held: readonly Held[], person: UserId, clientId: string): void {
  for (const other of held)
    if (other.person === person && other.clientId === clientId) other.consent.ended = true
}

async function refreshOnce(one: Step, token: Held, held: Held[]): Promise<void> {
  const wish = one.action === 'narrow' ? { scope: one.scopes.join(' ') } : {}
  const reply = await refresh(world, token, wish)
  if (reply.status === 200) {
    assert.equal(token.consent.ended, false, 'something came of a consent that had ended')
    held.push({ ...token, ...reply.body })
  } else if (reply.body.error === 'invalid_grant') token.consent.ended = true
}

async function check(token: Held): Promise<void> {
  const facts = await world.oauth.tokens.find(token.access_token)
  if (token.consent.ended) return assert.equal(facts, null, 'a token outlived its consent')
  assert.ok(facts, 'a token died without a reason')
  assert.equal(facts.userId, token.person)
  assert.equal(facts.clientId, token.clientId)
  for (const scope of facts.scopes) assert.ok(token.allowed.includes(scope), `wider: ${scope}`)
}
