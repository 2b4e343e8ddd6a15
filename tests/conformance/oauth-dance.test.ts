/**
 * Both official client lines through the whole dance, against the real pages: discovery, registration,
 * sign-in, consent, token, call, step-up to brokerage, refresh, revocation. Nothing is prepared for them but
 * a person.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  Client,
  type OAuthClientProvider,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client'
import {
  type OAuthClientProvider as OldProvider,
  UnauthorizedError as OldUnauthorized,
} from '@modelcontextprotocol/sdk/client/auth.js'
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { byOperator } from '#contract/actor.ts'
import { callTool } from '#tests/support/agent.ts'
import { type Choice, type Person, signUp } from '#tests/support/person.ts'
import { type Service, startService } from '#tests/support/service.ts'

let service: Service
before(async () => {
  service = await startService()
})
after(() => service.close())

const callback = 'http://127.0.0.1:53682/callback'
const info = { name: 'acceptance', version: '1' }
const url = () => new URL(`${service.baseUrl}/mcp`)
const metadata = {
  client_name: 'Acceptance',
  redirect_uris: [callback],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
}

interface Tokens {
  readonly access_token: string
  readonly refresh_token?: string | undefined
  readonly scope?: string | undefined
}

/** What a client keeps between its attempts, and where it sent the person last. */
interface Memory {
  // biome-ignore lint/suspicious/noExplicitAny: the two client lines name the same documents by different types.
  [name: string]: any
  tokens?: Tokens
  sentTo?: URL
}

function remember(memory: Memory) {
  return {
    redirectUrl: callback,
    state: () => {
      memory.state = crypto.randomUUID()
      return memory.state as string
    },
    tokens: () => memory.tokens,
    saveTokens: (tokens: Tokens) => {
      memory.tokens = tokens
    },
    // The refused credentials are dropped, as real clients do.
    invalidateCredentials: (what: string) => {
      if (what === 'all' || what === 'tokens') delete memory.tokens
    },
    redirectToAuthorization: (address: URL) => {
      memory.sentTo = address
    },
    saveCodeVerifier: (verifier: string) => {
      memory.verifier = verifier
    },
    codeVerifier: () => memory.verifier as string,
    saveDiscoveryState: (state: unknown) => {
      memory.discovery = state
    },
    discoveryState: () => memory.discovery,
  }
}

interface Session {
  readonly version: string | undefined
  call(name: string, args?: Record<string, unknown>): Promise<Called>
  close(): Promise<void>
}

interface Called {
  readonly isError?: boolean | undefined
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever fields it expects, and fails when they are absent.
  readonly structuredContent?: any
}

interface Line {
  /** Connects with what is remembered; null when a person has to be asked first. */
  connect(memory: Memory): Promise<Session | null>
  /** Redeems what the browser brought back. */
  finish(memory: Memory, answer: URL): Promise<void>
  readonly unauthorized: typeof UnauthorizedError | typeof OldUnauthorized
  readonly version: string
}

function newLine(mode: 'auto' | 'legacy', version: string): Line {
  const provider = (memory: Memory): OAuthClientProvider =>
    ({
      ...remember(memory),
      clientMetadata: { ...metadata, application_type: 'native' },
      clientInformation: () => memory.client,
      saveClientInformation: (client: unknown) => {
        memory.client = client
      },
    }) as OAuthClientProvider
  const open = (memory: Memory) =>
    new StreamableHTTPClientTransport(url(), { authProvider: provider(memory) })
  return {
    version,
    unauthorized: UnauthorizedError,
    async connect(memory) {
      const client = new Client(info, { versionNegotiation: { mode } })
      try {
        await client.connect(open(memory))
      } catch (error) {
        if (error instanceof UnauthorizedError) return null
        throw error
      }
      return {
        version: client.getNegotiatedProtocolVersion(),
        call: async (name, args = {}) =>
          (await client.callTool({ name, arguments: args })) as Called,
        close: () => client.close(),
      }
    },
    finish: (memory, answer) => open(memory).finishAuth(answer.searchParams),
  }
}

const oldLine: Line = {
  version: '2025-11-25',
  unauthorized: OldUnauthorized,
  async connect(memory) {
    const client = new OldClient(info)
    const transport = openOld(memory)
    try {
      await client.connect(transport as Parameters<OldClient['connect']>[0])
    } catch (error) {
      if (error instanceof OldUnauthorized) return null
      throw error
    }
    return {
      version: transport.protocolVersion,
      call: async (name, args = {}) => (await client.callTool({ name, arguments: args })) as Called,
      close: () => client.close(),
    }
  },
  finish: (memory, answer) => openOld(memory).finishAuth(answer.searchParams.get('code') ?? ''),
}

function openOld(memory: Memory): OldTransport {
  const provider = {
    ...remember(memory),
    clientMetadata: metadata,
    clientInformation: () => memory.client,
    saveClientInformation: (client: unknown) => {
      memory.client = client
    },
  } as OldProvider
  return new OldTransport(url(), { authProvider: provider })
}

const lines: Readonly<Record<string, Line>> = {
  '2.4, 2026-07-28': newLine('auto', '2026-07-28'),
  '2.4, legacy': newLine('legacy', '2025-11-25'),
  '1.32': oldLine,
}

/** From nothing to a session: the first attempt sends the person to the browser. */
async function dance(line: Line, memory: Memory, person: Person, choice: Choice = {}) {
  assert.equal(await line.connect(memory), null, 'a stranger is sent to the browser')
  assert(memory.sentTo !== undefined)
  const answer = await person.approve(memory.sentTo, choice)
  assert.equal(`${answer.origin}${answer.pathname}`, callback)
  assert.equal(answer.searchParams.get('state'), memory.state)
  await line.finish(memory, answer)
  const session = await line.connect(memory)
  assert(session !== null)
  return session
}

const linked: ReadonlySet<string> = new Set(['fiskil', 'snaptrade'])

/** With one bank and one broker: where an account has calls by the day, these tests would use them up. */
async function linkedPerson(): Promise<Person> {
  const person = await signUp(service)
  const all = service.sandbox.person('healthy')
  for (const credentials of all.filter((one) => linked.has(one.provider))) {
    await service.app.connections.linkConnections(byOperator, person.id, credentials)
  }
  return person
}

const scopesOf = (tokens: Tokens | undefined) => (tokens?.scope ?? '').split(' ').sort()

for (const [name, line] of Object.entries(lines)) {
  test(`client ${name}: from the bare URL to all six tools`, async () => {
    const person = await linkedPerson()
    const memory: Memory = {}
    const session = await dance(line, memory, person)
    try {
      assert.equal(session.version, line.version)
      assert(scopesOf(memory.tokens).includes('brokerage:read'), 'the first challenge named both')
      await callAll(session)
    } finally {
      await session.close()
    }
  })

  test(`client ${name}: a person who leaves the brokers out is asked again when they are needed`, async () => {
    const person = await linkedPerson()
    const memory: Memory = {}
    const session = await dance(line, memory, person, { scopes: ['mcp:read'] })
    const connectionId = await idOf(session, 'brokerage')
    // A refresh would bring no further scope: the 1.x line asks anew only without one.
    if (line === oldLine && memory.tokens !== undefined) {
      memory.tokens = { ...memory.tokens, refresh_token: undefined }
    }
    delete memory.sentTo
    await assert.rejects(session.call('list_holdings', { connectionId }), line.unauthorized)
    await session.close()
    const asked = new URL(memory.sentTo ?? '').searchParams.get('scope') ?? ''
    assert.deepEqual(
      asked
        .split(' ')
        .filter((scope) => scope !== 'offline_access')
        .sort(),
      ['brokerage:read', 'mcp:read'],
    )
    await line.finish(memory, await person.approve(memory.sentTo ?? ''))
    const again = await line.connect(memory)
    const holdings = await again?.call('list_holdings', { connectionId })
    assert(holdings?.structuredContent.data.length > 0)
    await again?.close()
  })

  test(`client ${name}: an expired token is refreshed without a person`, async () => {
    const person = await linkedPerson()
    const memory: Memory = {}
    const session = await dance(line, memory, person)
    const before = memory.tokens
    service.clock.advance(20 * 60_000)
    delete memory.sentTo
    await idOf(session, 'banking')
    assert.notEqual(memory.tokens?.access_token, before?.access_token)
    assert.notEqual(memory.tokens?.refresh_token, before?.refresh_token, 'rotated')
    assert.equal(memory.sentTo, undefined)
    await session.close()
  })

  test(`client ${name}: R27: disconnected by its person, it is refused on the next call`, async () => {
    const person = await linkedPerson()
    const memory: Memory = {}
    const session = await dance(line, memory, person)
    const page = await person.visit('/agents')
    assert.match(page.text, /Acceptance/)
    const question = await person.submit(page, '/agents/disconnect', {})
    await person.submit(question, '/agents/disconnect', { decision: 'confirm' })
    delete memory.sentTo
    await assert.rejects(session.call('list_connections'), line.unauthorized)
    assert(memory.sentTo !== undefined, 'it has to ask again')
    await session.close()
  })

  test(`client ${name}: after a denial it gets no access`, async () => {
    const person = await signUp(service)
    const memory: Memory = {}
    assert.equal(await line.connect(memory), null)
    const answer = await person.approve(memory.sentTo ?? '', { decision: 'deny' })
    assert.equal(answer.searchParams.get('error'), 'access_denied')
    assert.equal(memory.tokens, undefined)
  })
}

async function idOf(session: Session, category: string): Promise<string> {
  const { structuredContent } = await session.call('list_connections')
  return structuredContent.data.find((row: { category: string }) => row.category === category).id
}

async function callAll(session: Session): Promise<void> {
  const accounts = await session.call('list_accounts')
  const banking = await idOf(session, 'banking')
  const brokerage = await idOf(session, 'brokerage')
  const own = accounts.structuredContent.data.filter(
    (row: { connectionId: string }) => row.connectionId === banking,
  )
  const results = [
    await session.call('list_balances', { accountIds: [own[0].id] }),
    await session.call('list_transactions', { connectionId: banking, accountId: own[0].id }),
    await session.call('list_holdings', { connectionId: brokerage }),
    await session.call('list_trades', { connectionId: brokerage }),
  ]
  for (const { isError, structuredContent } of results) {
    assert.equal(isError ?? false, false, JSON.stringify(structuredContent))
    assert(Array.isArray(structuredContent.data))
  }
}

test('R5: a token for agents opens no REST path', async () => {
  const person = await linkedPerson()
  const memory: Memory = {}
  await (await dance(oldLine, memory, person)).close()
  const bearer = `Bearer ${memory.tokens?.access_token}`
  assert.equal((await callTool(service, bearer, 'list_connections')).result.isError, undefined)
  const rest = await service.get('/v1/connections', bearer)
  assert.equal(rest.body.error.code, 'invalid_token')
})
