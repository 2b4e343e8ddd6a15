/**
 * The page of an auth session at the Fiskil emulator, which replaces the bank's own sign-in: what a person
 * may decide, and where the browser goes. Allowing leads to the redirect address, everything else to the
 * cancel address with Fiskil's error.
 */
import {
  carry,
  choose,
  decide,
  leaveTo,
  markup,
  others,
  showEnd,
  showPage,
  tick,
} from '../consent-page.ts'
import type { EmulatorReply, EmulatorRequest } from '../emulator.ts'
import { institutions, isAccessible, type SandboxPerson } from './world.ts'

/** What `POST /v1/auth/session` opened; good for five days, once. */
export interface AuthSession {
  readonly id: string
  readonly person: SandboxPerson
  /** Null: the person chooses. */
  readonly institutionId: string | null
  readonly arrangementId: string | null
  readonly redirectUri: string | null
  readonly cancelUri: string | null
  readonly expiresAtMs: number
}

/** What the person allowed. */
export interface Allowed {
  readonly institutionId: string
  readonly hasNewIds: boolean
  readonly arrivesAfterMs: number
}

export const authPagePath = '/auth'

interface Failure {
  readonly type: string
  readonly error: string
  readonly label: string
  readonly text: string
}

const cancelled: Failure = {
  type: 'AUTH_SESSION_CANCELLED',
  error: 'access_denied',
  label: 'Leave the page',
  text: 'The session was cancelled',
}
/** By decision; `deny` has a button of its own. */
const failures: Readonly<Record<string, Failure>> = {
  deny: {
    type: 'CONSENT_ENDUSER_DENIED',
    error: 'access_denied',
    label: 'Deny',
    text: 'The customer declined the consent',
  },
  cancel: cancelled,
  otp: {
    type: 'CONSENT_OTP_FAILURE',
    error: 'access_denied',
    label: 'Wrong one-time code',
    text: 'The one-time code was refused',
  },
  ineligible: {
    type: 'CONSENT_ENDUSER_INELIGIBLE',
    error: 'access_denied',
    label: 'These accounts may not be shared',
    text: 'The customer is not eligible',
  },
  timeout: {
    type: 'CONSENT_TIMEOUT',
    error: 'server_error',
    label: 'The bank’s page times out',
    text: 'The consent was not finished in time',
  },
  upstream: {
    type: 'CONSENT_UPSTREAM_PROCESSING_ERROR',
    error: 'server_error',
    label: 'The bank fails',
    text: 'The data holder could not process the consent',
  },
  data: {
    type: 'CONSUMERDATA_PROCESSING_ERROR',
    error: 'server_error',
    label: 'The data cannot be read',
    text: 'The consumer data could not be processed',
  },
  invalid: {
    type: 'AUTH_SESSION_INVALID',
    error: 'invalid_request',
    label: 'The session is invalid',
    text: 'The session is not valid',
  },
}

const arrivals = [
  { value: '0', label: 'at once' },
  { value: '2', label: 'after two seconds' },
  { value: '30', label: 'after half a minute' },
] as const

export interface PageSite {
  readonly nowMs: number
  find(sessionId: string): AuthSession | null
  /** Uses the session: it cannot be used again. */
  end(session: AuthSession): void
  allow(session: AuthSession, allowed: Allowed): void
}

/** `GET /auth?sess_id=` shows the page, `POST /auth` decides. */
export function answerAuthPage(request: EmulatorRequest, site: PageSite): EmulatorReply {
  const isDecision = request.method === 'POST'
  const fields = isDecision ? new URLSearchParams(request.body) : request.query
  const session = site.find(fields.get('sess_id') ?? '')
  if (session === null || session.expiresAtMs <= site.nowMs) {
    const text = 'It was used before, or it is too old. Go back to the app and start again.'
    return showEnd('Fiskil', 'This link cannot be used any more', text)
  }
  if (!isDecision) return showForm(session, null)
  const decision = fields.get('decision') ?? ''
  const failure = Object.hasOwn(failures, decision) ? failures[decision] : undefined
  if (failure !== undefined) {
    site.end(session)
    return leave(session.cancelUri, describe(failure))
  }
  if (decision !== 'allow') return showForm(session, 'Choose what happens.')
  const institutionId = session.institutionId ?? fields.get('institution') ?? ''
  const known = institutions.find(({ id }) => id === institutionId)
  if (known === undefined || !isAccessible(known)) return showForm(session, 'Choose a bank.')
  const seconds = arrivals.find(({ value }) => value === fields.get('arrival'))?.value ?? '0'
  site.end(session)
  site.allow(session, {
    institutionId,
    hasNewIds: fields.get('new-ids') === 'on',
    arrivesAfterMs: Number(seconds) * 1000,
  })
  return leave(session.redirectUri, { session_id: session.id })
}

function describe({ type, error, text }: Failure): Readonly<Record<string, string>> {
  return {
    error,
    error_id: 'err_sandbox',
    error_type: type,
    error_description: text,
    error_uri: 'https://docs.fiskil.com',
  }
}

function leave(address: string | null, added: Readonly<Record<string, string>>): EmulatorReply {
  if (address !== null) return leaveTo(address, added)
  const content = markup`<p>You may close this page.</p>`
  return showPage({ provider: 'Fiskil', title: 'Done', content })
}

function showForm(session: AuthSession, problem: string | null): EmulatorReply {
  const bank = institutions.find(({ id }) => id === session.institutionId)
  const open = institutions.filter(isAccessible)
  const options = open.map(({ id, name }) => ({ value: id, label: name }))
  const rest = Object.entries(failures).filter(([decision]) => decision !== 'deny')
  const isRenewal = session.arrangementId !== null
  const content = markup`${problem !== null && markup`<p class="alert" role="alert">${problem}</p>`}
<p>Tributary asks to read your accounts, balances and transactions${bank !== undefined && ` at ${bank.name}`} for a year.</p>
<form method="post" action="${authPagePath}">
${carry({ sess_id: session.id })}
${bank === undefined && choose('institution', 'Your bank', options)}
${decide(
  [
    ['allow', isRenewal ? 'Renew' : 'Allow'],
    ['deny', 'Deny'],
  ],
  true,
)}
${others(markup`<p class="soft">Each button ends this page in another way; the choices below change what “${isRenewal ? 'Renew' : 'Allow'}” gives.</p>
${decide(rest.map(([decision, { label }]) => [decision, label] as const))}
${choose('arrival', 'The accounts arrive', arrivals)}
${isRenewal && tick('new-ids', 'The renewal gives a new consent, with new ids of its accounts')}`)}
</form>`
  return showPage({
    provider: 'Fiskil',
    title: isRenewal ? 'Renew your consent' : 'Share your bank data',
    content,
  })
}
