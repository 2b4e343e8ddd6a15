/**
 * The emulator's endpoints about people and their consents: end users, the list of consents in the form of
 * the version asked for, revocation that may be repeated, and the institutions there are.
 */
import type { Clock } from '#kernel/time.ts'
import type { EmulatorReply, EmulatorRequest } from '../emulator.ts'
import { serviceError } from './answers.ts'
import type { FiskilApiVersion } from './auth.ts'
import type { FiskilWebhooks } from './webhooks.ts'
import {
  institutions,
  isLive,
  type SandboxConsent,
  type SandboxInstitution,
  type SandboxPerson,
} from './world.ts'

/** `GET /v1/end-users/{id}` */
export function showEndUser(person: SandboxPerson | null): EmulatorReply {
  if (person === null || person.deleted) {
    return serviceError({
      status: 404,
      name: 'end_user_not_found',
      message: 'end user not found',
    })
  }
  return { status: 200, body: endUserBody(person) }
}

/** `GET /v1/end-users?email=` */
export function listEndUsers(
  people: readonly SandboxPerson[],
  request: EmulatorRequest,
  version: FiskilApiVersion,
): EmulatorReply {
  const email = request.query.get('email')
  const found = people
    .filter((person) => !person.deleted && (email === null || person.email === email))
    .map(endUserBody)
  return list('end_users', found, version)
}

/** `DELETE /v1/end-users/{id}`: deletes the end user and every consent. */
export function deleteEndUser(person: SandboxPerson | null): EmulatorReply {
  if (person === null || person.deleted) return showEndUser(null)
  person.deleted = true
  return { status: 204 }
}

/** `GET /v1/consent?end_user_id=&active=`; for an unknown end user the list is empty. */
export function listConsents(
  asked: { readonly person: SandboxPerson | null; readonly clock: Clock },
  request: EmulatorRequest,
  version: FiskilApiVersion,
): EmulatorReply {
  const active = request.query.get('active')
  if (active !== null && active !== 'true' && active !== 'false') {
    return serviceError({ status: 400, name: 'bad_request', message: 'active must be a boolean' })
  }
  const { person } = asked
  const nowMs = asked.clock.now()
  const consents = person === null || person.deleted ? [] : person.consents
  const shown = consents
    .filter((consent) => active === null || String(isLive(consent, nowMs)) === active)
    .map((consent) => consentBody(consent, person, nowMs))
  return list('consents', shown, version)
}

/** `DELETE /v1/consent/{arrangement_id}`: 204 for an unknown id too. */
export function revokeConsent(
  people: readonly SandboxPerson[],
  arrangementId: string,
  webhooks: FiskilWebhooks,
): EmulatorReply {
  for (const person of people) {
    const consent = person.consents.find((other) => other.arrangementId === arrangementId)
    if (consent === undefined) continue
    const wasActive = consent.active
    consent.active = false
    consent.terminationReason = 'Expired or Revoked'
    if (wasActive) webhooks.send('consent.revoked', { person, consents: [consent] })
    break
  }
  return { status: 204 }
}

/** `GET /v1/institutions?client_id=`; the team's id is required. */
export function listInstitutions(request: EmulatorRequest, clientId: string): EmulatorReply {
  if (request.query.get('client_id') !== clientId) {
    return serviceError({ status: 400, name: 'missing_field', message: '"client_id" is required' })
  }
  const industry = request.query.get('industry')
  const found = institutions.filter((one) => industry === null || one.industry === industry)
  return { status: 200, body: found.map(institutionBody) }
}

/** `GET /v1/institutions/{id}` */
export function showInstitution(id: string): EmulatorReply {
  const found = institutions.find((one) => one.id === id)
  if (found !== undefined) return { status: 200, body: institutionBody(found) }
  return serviceError({
    status: 404,
    name: 'institution_not_found',
    message: 'institution not found',
  })
}

/** v1 and v2 answer bare arrays where v3 wraps them. */
function list(key: string, rows: readonly unknown[], version: FiskilApiVersion): EmulatorReply {
  return { status: 200, body: version === 'v3' ? { [key]: rows, links: {} } : rows }
}

export function endUserBody(person: SandboxPerson): Record<string, unknown> {
  return { end_user_id: person.endUserId, email: person.email, name: person.name }
}

function consentBody(
  consent: SandboxConsent,
  person: SandboxPerson | null,
  nowMs: number,
): Record<string, unknown> {
  const institution = institutions.find((one) => one.id === consent.institutionId)
  const live = isLive(consent, nowMs)
  return {
    arrangement_id: consent.arrangementId,
    active: live,
    created_at: new Date(consent.createdAtMs).toISOString(),
    expires_at: new Date(consent.expiresAtMs).toISOString(),
    last_accessed: new Date(nowMs).toISOString(),
    last_consent: new Date(consent.createdAtMs).toISOString(),
    duration: Math.round((consent.expiresAtMs - consent.createdAtMs) / 1000),
    institution_id: consent.institutionId,
    institution_name: institution?.name ?? '',
    institution_logo: institution?.logo ?? '',
    institution_type: institution?.industry ?? 'banking',
    permissions: consent.permissions,
    account_ids: consent.synced ? consent.accounts.map((one) => one.body.account_id) : [],
    termination_reason: live ? '' : consent.terminationReason || 'Expired or Revoked',
    end_user_id: person?.endUserId ?? '',
    end_user_email: person?.email ?? '',
    app_name: 'Tributary Sandbox',
    app_logo: '',
  }
}

function institutionBody(institution: SandboxInstitution): Record<string, unknown> {
  return {
    id: institution.id,
    name: institution.name,
    icon: institution.logo,
    logo: institution.logo,
    industry: institution.industry,
    priority: 1,
    is_accessible: institution.isAccessible !== false,
    status: { connections: { status: institution.health } },
  }
}
