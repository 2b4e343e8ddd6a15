/**
 * Consent in a browser: the page of Enable Banking, which leads to the bank, and the session that the return
 * is exchanged for (docs/providers/enable-banking.md, Linking). The return address is the same for everybody.
 */
import { toIso } from '#kernel/time.ts'
import type {
  Linking,
  LinkingFailure,
  LinkingRequest,
  LinkingReturn,
  ReturnRequest,
} from '../linking.ts'
import type { CallContext, Login } from '../port.ts'
import type { Application } from './application.ts'
import { applicationOf, type Reach } from './consent.ts'
import { malformed, RefusedError, refused } from './failures.ts'
import { toInstitution } from './institutions.ts'
import { keepNewSession, toBareSession } from './keep-session.ts'
import { findStrange, keepAsked } from './link-person.ts'
import { toPsuHeaders } from './psu-headers.ts'
import { readSecret, toBareSecret } from './secret.ts'
import { AuthBody, type NewSession, NewSessionBody, readBody, type WireAspsp } from './wire.ts'

export function makeLinking(reach: Reach): Linking {
  return {
    stateIn: 'parameter',
    ...(reach.client.application === null ? { needsLogin: true } : {}),
    // An application of the person's own sees their accounts; this installation's may not.
    isPreferred: (login) => Boolean(readSecret(login)?.application),
    byCountry: {
      countries: (login, call) => reach.banks.countries(applicationOf(reach, login), call),
      async list(login, country, call) {
        const banks = await reach.banks.list(applicationOf(reach, login), country, call)
        return banks.map(toInstitution)
      },
    },
    begin: (request, call) => begin(reach, request, call),
    finish: (request, call) => finish(reach, request, call),
    // unconfirmed: a bank with one consent for each person has ended the former one itself; then it is gone.
    leftBy: (former) => (former.isOurs === true ? toBareSecret(readSecret(former)) : null),
  }
}

const daySeconds = 86_400
/** Where a bank does not say how long it lasts. */
const usualValidity = 90 * daySeconds
/** Clocks differ: a consent that ends after what the bank allows is refused. */
const spareSeconds = 3600

async function begin(
  reach: Reach,
  request: LinkingRequest,
  call: CallContext,
): Promise<{ readonly address: string }> {
  const application = applicationOf(reach, request.login)
  const { institutionId } = request
  if (institutionId === null) throw refused('choose a bank first')
  const bank = await reach.banks.find(application, institutionId, call)
  const body = {
    access: { valid_until: toValidUntil(reach, bank), balances: true, transactions: true },
    aspsp: { name: bank.name, country: bank.country },
    state: request.state,
    redirect_url: request.returnUrl,
    psu_type: 'personal',
    language: 'en',
    psu_id: request.user.userId,
  }
  const required = (bank.required_psu_headers ?? []).map((name) => name.toLowerCase())
  const headers = toPsuHeaders(call, required) ?? {}
  const asked = { method: 'POST', route: '/auth', target: '/auth', json: body, headers } as const
  const told = readBody(AuthBody, await reach.client.send(application, asked, call))
  const { url, psu_id_hash: hash } = told
  const begun = { state: request.state, userId: request.user.userId }
  if (hash) await keepAsked(reach, begun, hash)
  const address = URL.parse(url)
  if (address === null || !/^https?:$/.test(address.protocol)) {
    throw malformed('the address of the consent page is no web address')
  }
  return { address: address.href }
}

/** RFC 3339 with an offset, at most what the bank allows. */
function toValidUntil({ clock }: Reach, { maximum_consent_validity: most }: WireAspsp): string {
  const allowed = most ?? usualValidity
  // Some banks allow an hour alone.
  const seconds = allowed > 2 * spareSeconds ? allowed - spareSeconds : Math.ceil(allowed * 0.95)
  return toIso(clock.now() + seconds * 1000).replace('Z', '+00:00')
}

async function finish(
  reach: Reach,
  { query, login, renews, begun, known = [], keep }: ReturnRequest,
  call: CallContext,
): Promise<LinkingReturn> {
  const error = query.get('error')
  if (error !== null)
    return error === 'access_denied' ? fail('cancelled', error) : fail('unavailable', 'bank_error')
  const [code = '', ...others] = query.getAll('code')
  if (others.length > 0 || !/^[\x21-\x7e]{1,2048}$/.test(code))
    return fail('unavailable', 'no_code')
  const application = applicationOf(reach, login)
  const opened = await open(reach, application, code, call)
  if ('kind' in opened) return opened
  await keep?.(toBareSession(application, opened))
  if (opened.accounts.length === 0) return fail('ineligible', 'no_accounts')
  const strange = begun && (await findStrange(reach, { application, opened, begun }, call))
  if (strange) return fail('different_account', strange)
  const identity = await keepNewSession(reach, { application, opened, known }, call)
  if (isOther(login, renews, identity.upstreamUserId))
    return fail('different_account', 'other_bank')
  return { kind: 'agreed', identity: { ...identity, isPersonal: false } }
}

const isOther = (
  login: Login | null,
  renews: ReturnRequest['renews'],
  upstreamUserId: string,
): boolean => renews !== null && login !== null && login.upstreamUserId !== upstreamUserId

/** Codes of the exchange that end a link; anything else is no answer. */
const failures: ReadonlyMap<string, LinkingFailure> = new Map([
  ['EXPIRED_AUTHORIZATION_CODE', 'expired'],
  ['WRONG_AUTHORIZATION_CODE', 'expired'],
  ['AUTHORIZATION_NOT_PROVIDED', 'expired'],
  ['ALREADY_AUTHORIZED', 'expired'],
  ['NO_ACCOUNTS_ADDED', 'ineligible'],
  ['WRONG_CREDENTIALS_PROVIDED', 'sign_in_refused'],
  ['ACCESS_DENIED', 'cancelled'],
  ['ASPSP_ERROR', 'unavailable'],
  ['ASPSP_TIMEOUT', 'unavailable'],
  ['REDIRECT_URI_NOT_ALLOWED', 'misconfigured'],
])

/** A code works once: it is exchanged at once, and never again. */
async function open(
  reach: Reach,
  application: Application,
  code: string,
  call: CallContext,
): Promise<NewSession | LinkingReturn> {
  const request = {
    method: 'POST',
    route: '/sessions',
    target: '/sessions',
    json: { code },
  } as const
  try {
    return readBody(NewSessionBody, await reach.client.send(application, request, call))
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error
    const reason = failures.get(error.code)
    if (reason === 'misconfigured' && application.isOwn)
      return fail('key_refused', 'own_application')
    if (reason !== undefined) return fail(reason, error.code.toLowerCase())
    if (error.failure.kind === 'consent_lost') return fail('expired', error.code.toLowerCase())
    throw error
  }
}

/** `code` is shown in logs, so it is never text that came from outside, only one of the codes above. */
function fail(reason: LinkingFailure, code: string): LinkingReturn {
  return { kind: 'failed', reason, code }
}
