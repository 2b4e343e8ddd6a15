/**
 * Linking a person to a bank at the emulator: end users are created, an auth session is opened, and a page replaces
 * the bank's own sign-in. Allowing makes a consent (or renews the one named), refusing leads to the cancel address.
 */
import type { Clock } from '#kernel/time.ts'
import type { EmulatorReply, EmulatorRequest } from '../emulator.ts'
import { serviceError } from './answers.ts'
import { endUserBody, showEndUser } from './consents.ts'
import { makeFreshConsent, makePerson } from './factories.ts'
import type { People } from './people.ts'
import type { FiskilWebhooks } from './webhooks.ts'
import { institutions, type SandboxPerson } from './world.ts'

interface Session {
  readonly id: string
  readonly person: SandboxPerson
  readonly institutionId: string
  readonly arrangementId: string | null
  readonly redirectUri: string | null
  readonly cancelUri: string | null
  readonly expiresAtMs: number
}

export interface Linking {
  /** `POST /v1/end-users`: not idempotent, the same address makes another end user. */
  createEndUser(request: EmulatorRequest): EmulatorReply
  /** `POST /v1/end-users/{id}` */
  updateEndUser(person: SandboxPerson | null, request: EmulatorRequest): EmulatorReply
  /** `POST /v1/auth/session` */
  openSession(request: EmulatorRequest): EmulatorReply
  /** `GET /auth?sess_id=[&decision=allow|deny]`: what the browser sees; needs no token. */
  showPage(request: EmulatorRequest): EmulatorReply
}

const sessionMs = 5 * 86_400_000
const consentMs = 365 * 86_400_000
const maxSessions = 1_000
const sandboxBank = '88888'

interface LinkingState {
  readonly clock: Clock
  readonly people: People
  readonly seed: string
  readonly clientId: string
  readonly webhooks: FiskilWebhooks
  readonly sessions: Map<string, Session>
  /** How many ids were given out so far. */
  made: number
}

export interface LinkingOptions {
  readonly clock: Clock
  readonly people: People
  readonly seed: string
  readonly clientId: string
  readonly webhooks: FiskilWebhooks
}

export function makeLinking(options: LinkingOptions): Linking {
  const state: LinkingState = { ...options, sessions: new Map(), made: 0 }
  return {
    createEndUser: (request) => createEndUser(state, request),
    updateEndUser,
    openSession: (request) => openSession(state, request),
    showPage: (request) => showPage(state, request),
  }
}

function nextId(state: LinkingState, prefix: string): string {
  state.made += 1
  return `${prefix}_${state.made}`
}

function createEndUser(state: LinkingState, request: EmulatorRequest): EmulatorReply {
  const { email, name } = readFields(request.body)
  if (typeof email !== 'string' || !email.includes('@')) return refuse('"email" is required')
  const key = nextId(state, 'linked')
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
  const institutionId = renewed?.institutionId ?? text(fields.institution_id) ?? sandboxBank
  if (!institutions.some((one) => one.id === institutionId)) return refuse('unknown institution_id')
  const session: Session = {
    id: nextId(state, 'sess'),
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

function showPage(state: LinkingState, request: EmulatorRequest): EmulatorReply {
  const session = state.sessions.get(request.query.get('sess_id') ?? '')
  if (session === undefined || session.expiresAtMs <= state.clock.now()) {
    return html(400, '<h1>This link cannot be used any more</h1>')
  }
  const decision = request.query.get('decision')
  if (decision !== 'allow' && decision !== 'deny') return html(200, consentPage(session))
  // A session can be used once.
  state.sessions.delete(session.id)
  if (decision === 'deny') return leave(session.cancelUri, denial)
  grant(state, session)
  return leave(session.redirectUri, { session_id: session.id })
}

/** The webhooks about a new consent: the sandbox's banks have their data at once. */
const arrivals = [
  'consent.received',
  'banking.accounts.sync.completed',
  'banking.balances.sync.completed',
  'banking.transactions.sync.completed',
]

/** Renews the consent that the session names, or makes a new one. */
function grant(state: LinkingState, { id, person, arrangementId, institutionId }: Session): void {
  const nowMs = state.clock.now()
  const known = person.consents.find((one) => one.arrangementId === arrangementId)
  if (known === undefined) {
    const seed = `${state.seed}:${person.endUserId}:${id}`
    const made = makeFreshConsent({ seed, nowMs }, institutionId)
    person.consents.push(made)
    for (const kind of arrivals) state.webhooks.send(kind, { person, consents: [made] })
    return
  }
  known.active = true
  known.terminationReason = ''
  known.expiresAtMs = nowMs + consentMs
  state.webhooks.send('consent.updated', { person, consents: [known] })
}

const denial = {
  error: 'access_denied',
  error_id: 'err_sandbox',
  error_type: 'CONSENT_ENDUSER_DENIED',
  error_description: 'The customer declined the consent',
  error_uri: 'https://docs.fiskil.com',
}

/** Sends the browser back; addresses keep the query they came with. */
function leave(address: string | null, added: Readonly<Record<string, string>>): EmulatorReply {
  const url = address === null ? null : URL.parse(address)
  if (url === null) return html(200, '<h1>Done. You may close this page.</h1>')
  for (const [name, value] of Object.entries(added)) url.searchParams.set(name, value)
  return { status: 302, headers: { location: url.href } }
}

function consentPage(session: Session): string {
  const bank = institutions.find((one) => one.id === session.institutionId)
  const button = (decision: string, label: string) =>
    `<button name="decision" value="${decision}">${label}</button>`
  return `<h1>${bank?.name ?? ''}</h1>
<p>Share accounts, balances and transactions with Tributary Sandbox?</p>
<form action="/auth" method="get">
<input type="hidden" name="sess_id" value="${session.id}">
${button('allow', 'Allow')} ${button('deny', 'Deny')}
</form>`
}

function html(status: number, body: string): EmulatorReply {
  const page = `<!doctype html><html lang="en"><title>Fiskil sandbox</title>${body}</html>`
  return { status, headers: { 'content-type': 'text/html; charset=utf-8' }, body: page }
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
