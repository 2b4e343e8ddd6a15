/** A person of the sandbox with a program that reads SimpleFIN, as clients see it over HTTP. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { request } from 'undici'
import { makeCreateProgram } from '#auth/programs/create-program.ts'
import { byOperator } from '#contract/actor.ts'
import type { Provider } from '#contract/resources.ts'
import { toSetupToken } from '#doors/simplefin-access.ts'
import type { MagicName } from '#sandbox/magic-users.ts'
import {
  type Service,
  type ServiceOptions,
  type ServiceUser,
  startService,
} from '#tests/support/service.ts'

export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
}

export interface ProgramWorld {
  readonly service: Service
  readonly user: ServiceUser
  /** A setup token of the user. */
  makeToken(input?: object): Promise<string>
  /** As a client claims: the token is base64 of a URL that is posted to. */
  claim(token: string, headers?: Record<string, string>): Promise<Reply>
  /** A GET or HEAD below an access URL, with its credentials as Basic. */
  read(accessUrl: string, path: string, method?: 'GET' | 'HEAD'): Promise<Reply>
  /** The answer of `/accounts`, which must be 200. */
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever fields a client reads.
  accounts(accessUrl: string, query?: string): Promise<any>
}

export interface WorldOptions extends ServiceOptions {
  readonly person?: MagicName
  readonly providers?: readonly Provider[]
  readonly plan?: Parameters<Service['createUser']>[0]
}

export async function openWorld(t: TestContext, options: WorldOptions = {}): Promise<ProgramWorld> {
  const {
    person = 'healthy',
    providers = ['fiskil', 'akahu', 'snaptrade'],
    plan,
    ...given
  } = options
  const service = await startService(given)
  t.after(() => service.close())
  const user = await service.createUser(plan)
  for (const provider of providers) await service.link(user, person, provider)
  return bind(service, user)
}

/** Another person of the same service. */
export function bind(service: Service, user: ServiceUser): ProgramWorld {
  const { store } = service.app
  const create = makeCreateProgram({ store, clock: service.clock })
  const send = async (
    method: 'GET' | 'HEAD' | 'POST',
    url: string,
    headers: Record<string, string>,
  ): Promise<Reply> => {
    const answer = await request(url, { method, headers })
    return { status: answer.statusCode, headers: answer.headers, text: await answer.body.text() }
  }
  const read = (accessUrl: string, path: string, method: 'GET' | 'HEAD' = 'GET') => {
    const url = new URL(accessUrl)
    const authorization = `Basic ${Buffer.from(`${url.username}:${url.password}`).toString('base64')}`
    return send(method, `${url.origin}${url.pathname}${path}`, { authorization })
  }
  return {
    service,
    user,
    async makeToken(input = {}) {
      const { secret } = await create(byOperator, user.id, input)
      return toSetupToken(service.baseUrl, secret)
    },
    claim: (token, headers = {}) => send('POST', Buffer.from(token, 'base64').toString(), headers),
    read,
    async accounts(accessUrl, query = '') {
      // Within the pace of ten requests a second.
      service.clock.advance(100)
      const answer = await read(accessUrl, `/accounts${query}`)
      assert.equal(answer.status, 200, answer.text)
      return JSON.parse(answer.text)
    },
  }
}

export async function openAccess(world: ProgramWorld, input?: object): Promise<string> {
  const { status, text } = await world.claim(await world.makeToken(input))
  assert.equal(status, 200)
  return text
}
