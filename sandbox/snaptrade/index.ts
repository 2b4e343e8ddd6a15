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
import { type AppCredentials, makeRateWindow, refuse, refuseApp } from './auth.ts'
import { makeFaultControls } from './fault-controls.ts'
import { makePeople, type People } from './people.ts'
import { answerPortal } from './portal.ts'
import { answer } from './routes.ts'
import { makeUuid } from './securities.ts'
import type { SnapTradeState } from './state.ts'
import { makeWebhooks } from './webhooks.ts'

export { demoPeople, makeAccount, toCredentials } from './people.ts'
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
   * Requests a minute, all users together; null switches the limit and its headers off. Default
   * 250.
   */
  readonly rateLimitPerMinute?: number | null
}

const legacyPrefix = '/api/v1'

/** Starts it; the same seed and clock give the same rows. */
export async function startSnapTradeEmulator(
  options: SnapTradeEmulatorOptions,
): Promise<SnapTradeEmulator> {
  const { clock, seed = 'tributary', credentials = demoCredentials } = options
  const people = makePeople({ seed, nowMs: clock.now() })
  const webhooks = makeWebhooks({ clock, credentials })
  const state: SnapTradeState = { people, sessions: new Map(), webhooks }
  const rate = makeRateWindow(
    options.rateLimitPerMinute === undefined ? 250 : options.rateLimitPerMinute,
  )
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
    const { headers, refused } = rate.count(nowMs)
    const reply =
      refused ??
      refuseApp(request, credentials, nowMs) ??
      (await faultOfOwner(path, request, people)) ??
      answer(path, { request, state, nowMs })
    const deprecation = legacy ? { Deprecation: '@1781222400' } : {}
    return { ...reply, headers: { ...headers, ...deprecation, ...reply.headers } }
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

const rowsPath = /^\/accounts\/[^/]+\/(?:positions\/all|activities)$/

/** Applies the row faults of a person: rows come late or fail. */
async function faultOfOwner(
  path: string,
  request: EmulatorRequest,
  people: People,
): Promise<EmulatorReply | null> {
  if (!rowsPath.test(path)) return null
  const userId = request.query.get('userId')
  const owner = Object.values(people).find((person) => person.userId === userId)
  return owner === undefined ? null : applyRowFaults(owner)
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
