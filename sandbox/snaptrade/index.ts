/**
 * The SnapTrade emulator: the provider's own HTTP on loopback, as strict as the real one, with
 * made-up people. It owns the order of the checks; rules, routes and people have
 * their own files.
 */
import type { Clock } from '#kernel/time.ts'
import {
  type EmulatorReply,
  type EmulatorRequest,
  type SendingEmulator,
  startEmulator,
  withWebhooks,
} from '../emulator.ts'
import type { SendingFaultControls } from '../fault-controls.ts'
import { applyRowFaults } from '../row-faults.ts'
import { type AppCredentials, makeRateWindows, refuse, refuseApp, refusePersonal } from './auth.ts'
import { makeFaultControls } from './fault-controls.ts'
import { findOwner, makePeople, type People } from './people.ts'
import { answerPortal } from './portal.ts'
import { answer } from './routes.ts'
import { makeUuid } from './securities.ts'
import type { SnapTradePerson } from './shapes.ts'
import type { SnapTradeState } from './state.ts'
import { makeWebhooks } from './webhooks.ts'

export { demoPeople, demoPersonalKey, makeAccount, toFields } from './people.ts'
export type { SnapTradeAccount, SnapTradeConnection, SnapTradePerson } from './shapes.ts'

/** The application credentials of the sandbox; they open nothing else. */
export const demoCredentials: AppCredentials = {
  clientId: 'TRIBUTARY-SANDBOX',
  consumerKey: 'sandbox-consumer-key',
}

export interface SnapTradeEmulator extends SendingEmulator {
  /** Mutable: tests may add rows, disable a connection or remove an account while it runs. */
  readonly people: People
  readonly credentials: AppCredentials
  /** The sandbox commands of this provider. */
  readonly faultControls: SendingFaultControls
}

export interface SnapTradeEmulatorOptions {
  readonly seed?: string
  readonly clock: Clock
  readonly port?: number
  readonly credentials?: AppCredentials
  /**
   * Requests a minute for a key, all its users together; null switches the limit and its headers off. Default
   * 250.
   */
  readonly rateLimitPerMinute?: number | null
  /** The same for each account under a personal key. Default 10. */
  readonly accountLimitPerMinute?: number | null
}

const legacyPrefix = '/api/v1'

/** Starts it; the same seed and clock give the same rows. */
export async function startSnapTradeEmulator(
  options: SnapTradeEmulatorOptions,
): Promise<SnapTradeEmulator> {
  const { clock, seed = 'tributary', credentials = demoCredentials } = options
  const people = makePeople({ seed, nowMs: clock.now() })
  const isSilent = (userId: string) => findOwner(people, userId) !== null
  const webhooks = makeWebhooks({ clock, credentials, isSilent })
  const state: SnapTradeState = { people, sessions: new Map(), webhooks }
  const { rateLimitPerMinute = 250, accountLimitPerMinute = 10 } = options
  const rateOf = makeRateWindows(rateLimitPerMinute, 'X-RateLimit')
  const accountRateOf = makeRateWindows(accountLimitPerMinute, 'X-RateLimit-Account')
  let count = 0

  async function handle(request: EmulatorRequest): Promise<EmulatorReply> {
    const nowMs = clock.now()
    if (request.method === 'GET' && request.path === '/') {
      const timestamp = new Date(nowMs).toISOString()
      return { status: 200, body: { version: 153, timestamp, online: true } }
    }
    const portal = answerPortal(request, state, { seed, nowMs })
    if (portal !== null) return portal
    const legacy = request.path.startsWith(`${legacyPrefix}/`)
    const path = legacy ? request.path.slice(legacyPrefix.length) : request.path
    const owner = findOwner(people, request.query.get('clientId'))
    const key = owner?.personalKey ?? credentials
    const { headers, refused } = rateOf(key.clientId).count(nowMs)
    const refusal =
      refused ??
      refuseApp(request, key, nowMs) ??
      (owner === null ? null : refusePersonal(path, request))
    const account = refusal === null ? findLimitedAccount(path, owner) : null
    const ofAccount = account === null ? free : accountRateOf(account).count(nowMs)
    const reply =
      refusal ??
      ofAccount.refused ??
      (await faultOfOwner(path, owner ?? findUser(request, people))) ??
      answer(path, { request, state, nowMs, clientId: key.clientId, owner })
    const deprecation = legacy ? { Deprecation: '@1781222400' } : {}
    const limits = { ...headers, ...ofAccount.headers }
    return { ...reply, headers: { ...limits, ...deprecation, ...reply.headers } }
  }

  const plain = await startEmulator(
    async (request) => {
      count += 1
      const reply = await safely(() => handle(request))
      const id = { 'X-Request-ID': makeUuid(`request:${count}`) }
      return { ...reply, headers: { ...id, ...reply.headers } }
    },
    { port: options.port ?? 0, clock },
  )
  return Object.assign(withWebhooks(plain, webhooks.sender), {
    people,
    credentials,
    faultControls: makeFaultControls({ people, clock, seed, webhooks }),
  })
}

const free = { headers: {}, refused: null }
const limitedPath =
  /^\/accounts\/([^/]+)(?:\/(?:balances|positions|positions\/all|activities|holdings|orders|quotes))?$/

/** The account that a request of a personal key counts for; null: it counts for none. */
function findLimitedAccount(path: string, owner: SnapTradePerson | null): string | null {
  const id = limitedPath.exec(path)?.[1]
  const accounts = owner?.connections.flatMap((connection) => connection.accounts) ?? []
  return accounts.find((account) => account.id === id)?.id ?? null
}

function findUser(request: EmulatorRequest, people: People): SnapTradePerson | null {
  const userId = request.query.get('userId')
  return Object.values(people).find((person) => person.userId === userId) ?? null
}

const rowsPath = /^\/accounts\/[^/]+\/(?:positions\/all|activities)$/

/** Applies the row faults of a person: rows come late or fail. */
async function faultOfOwner(
  path: string,
  person: SnapTradePerson | null,
): Promise<EmulatorReply | null> {
  return person === null || !rowsPath.test(path) ? null : applyRowFaults(person)
}

/** A path that cannot be decoded matches no route. */
async function safely(handle: () => Promise<EmulatorReply>): Promise<EmulatorReply> {
  try {
    return await handle()
  } catch (error) {
    if (error instanceof URIError) return refuse(404, '0000', 'Not found.')
    throw error
  }
}
