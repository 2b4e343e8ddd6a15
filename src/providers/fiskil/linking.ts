/**
 * Consent in a browser at Fiskil: its banks, an end user for a person, the page of an auth session, and what
 * comes back. A return is never believed: the consents are listed afterwards (docs/providers/fiskil.md,
 * Linking).
 */
import { z } from 'zod'
import { atFirstUse } from '#kernel/lazily.ts'
import { hideNumbers } from '../account-number.ts'
import type { Identity } from '../credentials.ts'
import { consentGone, UpstreamError } from '../failure.ts'
import type {
  Institution,
  Linking,
  LinkingFailure,
  LinkingRequest,
  LinkingReturn,
  LinkingUser,
  ReturnRequest,
} from '../linking.ts'
import { readPageAddress } from '../page-address.ts'
import type { CallContext } from '../port.ts'
import type { FiskilClient } from './client.ts'
import { malformed, refusalCode } from './failures.ts'
import { readJson } from './lists.ts'

export interface FiskilLinkingOptions {
  readonly client: FiskilClient
  /** The team whose institutions are listed. */
  readonly teamId: string
  /** Receives what is outside the known lists. */
  readonly odd: (what: string) => void
}

export function makeFiskilLinking(options: FiskilLinkingOptions): Linking {
  const { client, odd } = options
  return {
    stateIn: 'query',
    institutions: (call) => listInstitutions(options, call),
    register: (user, call) => register(client, user, call),
    begin: (request, call) => begin(client, request, call),
    finish: async (request) => readReturn(request, odd),
  }
}

/** The id is documented as text with digits; a number is read alike. */
const WireInstitution = z.object({
  id: z.union([z.string().min(1).max(200), z.int()]).transform(String),
  name: z.string().min(1),
  industry: z.string().nullish(),
  is_accessible: z.boolean().nullish(),
  status: z
    .object({ connections: z.object({ status: z.string().nullish() }).nullish() })
    .nullish()
    .catch(null),
})

const healths: ReadonlyMap<string, Institution['health']> = new Map([
  ['HEALTHY', 'healthy'],
  ['DEGRADED', 'degraded'],
  ['OUTAGE', 'outage'],
] as const)

/** Rows that cannot be read are left out and counted: one odd bank must not hide the others. */
async function listInstitutions(
  { client, teamId, odd }: FiskilLinkingOptions,
  call: CallContext,
): Promise<readonly Institution[]> {
  const query = { client_id: teamId, industry: 'banking' }
  const rows = await client.list(
    { path: '/v1/institutions', key: 'institutions', query, parse: readJson },
    call,
  )
  const found: Institution[] = []
  for (const row of rows) {
    const { data } = WireInstitution.safeParse(row)
    if (data === undefined) odd('unreadable institution')
    else if ((data.industry ?? 'banking') === 'banking') found.push(toInstitution(data))
  }
  const { compare } = byName()
  return found.sort((a, b) => compare(a.name, b.name))
}

/** Made at the first list: loading the rules of an order takes 6 ms. */
const byName = atFirstUse(() => new Intl.Collator('und'))

function toInstitution(row: z.infer<typeof WireInstitution>): Institution {
  return {
    id: row.id,
    name: hideNumbers(row.name, []),
    health: healths.get(row.status?.connections?.status ?? '') ?? null,
    isOpen: row.is_accessible ?? true,
  }
}

const EndUser = z.object({ end_user_id: z.string().min(1).max(200) })

/** Makes an end user: a second call makes a second one, so it is sent once. */
async function register(
  client: FiskilClient,
  { email, name }: LinkingUser,
  call: CallContext,
): Promise<Identity> {
  const json = { email, ...(name === null ? {} : { name }) }
  const made = EndUser.safeParse(readJson(await client.post('/v1/end-users', json, call)))
  if (!made.success) throw malformed('the answer has no end_user_id')
  return { upstreamUserId: made.data.end_user_id, secret: null, isPersonal: false }
}

const Session = z.object({ auth_url: z.string() })

async function begin(
  client: FiskilClient,
  { login, institutionId, renews, returnUrl }: LinkingRequest,
  call: CallContext,
): Promise<{ readonly address: string }> {
  if (login === null) throw malformed('there is no end user to open a session for')
  const json = {
    end_user_id: login.upstreamUserId,
    redirect_uri: returnUrl,
    cancel_uri: returnUrl,
    ...(institutionId === null ? {} : { institution_id: institutionId }),
    ...(renews === null ? {} : { arrangement_id: renews.upstreamId }),
  }
  const body = await client.post('/v1/auth/session', json, call).catch(explainRefusal)
  const opened = Session.safeParse(readJson(body))
  const address = opened.success ? readPageAddress(opened.data.auth_url) : null
  if (address === null) throw malformed('auth_url is not the address of a page')
  return { address }
}

/**
 * An end user who was deleted at Fiskil: every consent of theirs is gone, and a new link needs another one.
 */
function explainRefusal(error: unknown): never {
  if (refusalCode(error) !== 'end_user_not_found') throw error
  const lost = { kind: 'consent_lost', becomes: 'revoked', wholeLogin: true } as const
  throw new UpstreamError('fiskil', { ...lost, detail: consentGone }, error)
}

/** `error_type` of a return to `cancel_uri` (docs/providers/fiskil.md, Linking). */
const failures: ReadonlyMap<string, LinkingFailure> = new Map([
  ['AUTH_SESSION_INVALID', 'expired'],
  ['AUTH_SESSION_CANCELLED', 'cancelled'],
  ['CONSENT_UPSTREAM_PROCESSING_ERROR', 'unavailable'],
  ['CONSENT_ENDUSER_DENIED', 'cancelled'],
  ['CONSENT_OTP_FAILURE', 'sign_in_refused'],
  ['CONSENT_ENDUSER_INELIGIBLE', 'ineligible'],
  ['CONSENT_TIMEOUT', 'expired'],
  ['CONSUMERDATA_PROCESSING_ERROR', 'unavailable'],
])

const errorNames = ['error', 'error_id', 'error_type', 'error_description']

/**
 * Redirect and cancel address are the same, and the parameters of an error tell them apart. Anything else
 * counts as agreed: the list of consents shows whether it is true.
 */
function readReturn(
  { login, query }: ReturnRequest,
  odd: FiskilLinkingOptions['odd'],
): LinkingReturn {
  if (errorNames.some((name) => query.has(name))) {
    const type = query.get('error_type') ?? ''
    const reason = failures.get(type)
    if (reason === undefined) odd('unknown error of a return')
    // Only the provider's own names are kept: the rest of the address is anybody's text.
    return { kind: 'failed', reason: reason ?? 'unavailable', code: reason && type ? type : null }
  }
  if (login === null) {
    const detail = 'the end user of this link is gone'
    throw new UpstreamError('fiskil', { kind: 'rejected', status: 404, detail })
  }
  const { upstreamUserId, secret } = login
  return { kind: 'agreed', identity: { upstreamUserId, secret, isPersonal: false } }
}
