/**
 * Linking a person to a bank at the emulator: end users are created, and an auth session is opened, whose
 * page replaces the bank's own sign-in (`auth-page.ts`).
 */
import { randomBytes } from 'node:crypto'
import type { Clock } from '#kernel/time.ts'
import { isReturnAddress } from '../consent-page.ts'
import type { EmulatorReply, EmulatorRequest } from '../emulator.ts'
import { serviceError } from './answers.ts'
import { type AuthSession, answerAuthPage } from './auth-page.ts'
import { endUserBody, showEndUser } from './consents.ts'
import { makePerson } from './factories.ts'
import { giveConsent } from './give-consent.ts'
import type { People } from './people.ts'
import type { FiskilWebhooks } from './webhooks.ts'
import { institutions, isAccessible, type SandboxPerson } from './world.ts'

export interface Linking {
  /** `POST /v1/end-users`: not idempotent, the same address makes another end user. */
  createEndUser(request: EmulatorRequest): EmulatorReply
  /** `POST /v1/end-users/{id}` */
  updateEndUser(person: SandboxPerson | null, request: EmulatorRequest): EmulatorReply
  /** `POST /v1/auth/session` */
  openSession(request: EmulatorRequest): EmulatorReply
  /** The page that a browser sees (`auth-page.ts`); needs no token. */
  answerPage(request: EmulatorRequest): EmulatorReply
  /** Accounts that have not arrived do not arrive any more. */
  close(): void
}

const sessionMs = 5 * 86_400_000
const maxSessions = 1_000

interface LinkingState {
  readonly clock: Clock
  readonly people: People
  readonly seed: string
  readonly clientId: string
  readonly webhooks: FiskilWebhooks
  readonly sessions: Map<string, AuthSession>
  readonly timers: Set<NodeJS.Timeout>
}

export interface LinkingOptions {
  readonly clock: Clock
  readonly people: People
  readonly seed: string
  readonly clientId: string
  readonly webhooks: FiskilWebhooks
}

export function makeLinking(options: LinkingOptions): Linking {
  const state: LinkingState = { ...options, sessions: new Map(), timers: new Set() }
  return {
    createEndUser: (request) => createEndUser(state, request),
    updateEndUser,
    openSession: (request) => openSession(state, request),
    answerPage: (request) => answerPage(state, request),
    close() {
      for (const timer of state.timers) clearTimeout(timer)
      state.timers.clear()
    },
  }
}

/**
 * Unlike those of the other people, it is another after each start: what was linked before must not be
 * somebody else.
 */
function makeId(prefix: string): string {
  return `${prefix}_${randomBytes(9).toString('base64url')}`
}

function createEndUser(state: LinkingState, request: EmulatorRequest): EmulatorReply {
  const { email, name } = readFields(request.body)
  if (typeof email !== 'string' || !email.includes('@')) return refuse('"email" is required')
  const key = makeId('linked')
  const person = makePerson(key, typeof name === 'string' ? name : '', () => [])
  person.email = email
  state.people[key] = person
  return { status: 201, body: { end_user_id: person.endUserId } }
}

function updateEndUser(person: SandboxPerson | null, request: EmulatorRequest): EmulatorReply {
  if (person === null || person.deleted) return showEndUser(null)
  const { email, name } = readFields(request.body)
  if (typeof email === 'string') person.email = email
  if (typeof name === 'string') person.name = name
  return { status: 200, body: endUserBody(person) }
}

function openSession(state: LinkingState, request: EmulatorRequest): EmulatorReply {
  const fields = readFields(request.body)
  if (typeof fields.end_user_id !== 'string') return refuse('"end_user_id" is required')
  const person = Object.values(state.people).find((one) => one.endUserId === fields.end_user_id)
  if (person === undefined || person.deleted) return showEndUser(null)
  const arrangementId = text(fields.arrangement_id)
  const renewed = person.consents.find((one) => one.arrangementId === arrangementId)
  if (arrangementId !== null && renewed === undefined) return refuse('unknown arrangement_id')
  const institutionId = renewed?.institutionId ?? text(fields.institution_id)
  const bank = institutions.find((one) => one.id === institutionId)
  if (institutionId !== null && (bank === undefined || !isAccessible(bank))) {
    return refuse('unknown institution_id')
  }
  for (const name of ['redirect_uri', 'cancel_uri'] as const) {
    const address = fields[name]
    if (address !== undefined && !isReturnAddress(address)) return refuse(`${name} is not allowed`)
  }
  const session: AuthSession = {
    id: makeId('sess'),
    person,
    institutionId,
    arrangementId,
    redirectUri: text(fields.redirect_uri),
    cancelUri: text(fields.cancel_uri),
    expiresAtMs: state.clock.now() + sessionMs,
  }
  if (state.sessions.size >= maxSessions) state.sessions.clear()
  state.sessions.set(session.id, session)
  return {
    status: 200,
    body: {
      session_id: session.id,
      auth_url: `http://${request.headers.host ?? 'localhost'}/auth?sess_id=${session.id}`,
      expires_at: Math.floor(session.expiresAtMs / 1000),
      id: state.clientId,
    },
  }
}

function answerPage(state: LinkingState, request: EmulatorRequest): EmulatorReply {
  const { clock, sessions, seed, webhooks } = state
  const nowMs = clock.now()
  return answerAuthPage(request, {
    nowMs,
    find: (id) => sessions.get(id) ?? null,
    end: ({ id }) => void sessions.delete(id),
    allow({ id, person, arrangementId }, allowed) {
      const world = { seed, nowMs, webhooks, later: makeLater(state) }
      giveConsent({ ...allowed, person, arrangementId, key: id }, world)
    },
  })
}

function makeLater({ timers }: LinkingState) {
  return (ms: number, work: () => void) => {
    const timer = setTimeout(() => {
      timers.delete(timer)
      work()
    }, ms)
    timer.unref()
    timers.add(timer)
  }
}

function refuse(message: string): EmulatorReply {
  return serviceError({ status: 400, name: 'bad_request', message })
}

function text(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}

function readFields(body: string): Readonly<Record<string, unknown>> {
  try {
    const parsed: unknown = JSON.parse(body)
    return typeof parsed === 'object' && parsed !== null ? { ...parsed } : {}
  } catch {
    // Not JSON: answered as if every required field were missing.
    return {}
  }
}
