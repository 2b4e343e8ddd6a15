/**
 * Consent in a browser under a commercial key: the person is registered once, then SnapTrade's connection
 * portal is opened for reading alone (docs/providers/snaptrade.md, Linking). A personal key has none of this,
 * and nothing here is called for it.
 */
import { randomBytes } from 'node:crypto'
import type { Identity } from '../credentials.ts'
import { consentGone, UpstreamError } from '../failure.ts'
import type {
  Linking,
  LinkingFailure,
  LinkingRequest,
  LinkingReturn,
  LinkingUser,
  ReturnRequest,
} from '../linking.ts'
import { readPageAddress } from '../page-address.ts'
import type { CallContext, Login } from '../port.ts'
import type { SnapTradeClient } from './client.ts'
import { rejectedStatus, toLoginFailure } from './consent.ts'
import { fail, malformed } from './failures.ts'
import { type Choices, findSlug, listInstitutions } from './institutions.ts'
import { type Asker, isPersonalLogin, type OwnKey, toAsker } from './keys.ts'
import { WirePortal, WireRegistered } from './wire.ts'

/** Users that this installation registers are called so, and no others: `isRegisteredHere`. */
const ourPrefix = 'tributary-'

interface Tell {
  readonly onOddity: (what: string) => void
  /** Reports what only the operator can fix. */
  readonly onAlert: (detail: string) => void
}

/** Makes the linking under a commercial key. */
export function makeLinking(client: SnapTradeClient, own: OwnKey, tell: Tell): Linking {
  const choices: Choices = { client, app: { kind: 'app', key: own }, onOddity: tell.onOddity }
  return {
    stateIn: 'path',
    institutions: (call) => listInstitutions(choices, call),
    accepts: (login) => !isPersonalLogin(login),
    register: (user, call) => register(choices, tell, user, call),
    begin: async (request, call) => begin(choices, own, request, call),
    finish: async (request) => readReturn(request),
  }
}

/** Whether the user was made by `register`. */
export function isRegisteredHere({ upstreamUserId }: Login): boolean {
  return upstreamUserId.startsWith(ourPrefix)
}

/**
 * Registers a user whose id says nothing outside: ours, and a part of its own for each time, because a user
 * whose secret was lost on the way cannot be registered again.
 */
async function register(
  { client, app }: Choices,
  { onAlert }: Tell,
  { userId }: LinkingUser,
  call: CallContext,
): Promise<Identity> {
  const wanted = `${ourPrefix}${userId}-${randomBytes(4).toString('hex')}`
  const request = {
    method: 'POST',
    route: '/snapTrade/registerUser',
    json: { userId: wanted },
  } as const
  const made = await client
    .fetchParsed(WireRegistered, request, app, call)
    .catch((error: unknown) => explainRegistration(error, onAlert))
  if (made.userId !== wanted) throw malformed('another user was registered than was asked for')
  return { upstreamUserId: made.userId, secret: made.userSecret, isPersonal: false }
}

/** A refusal concerns our key or our ids, never the person. */
function explainRegistration(error: unknown, onAlert: Tell['onAlert']): never {
  const status = rejectedStatus(error)
  if (!(error instanceof UpstreamError) || status === null) throw error
  const { detail } = error.failure
  const remedy =
    'SnapTrade does not register this user; one that exists already has a secret that is lost: delete it (DELETE /snapTrade/deleteUser), then the person links again'
  onAlert(`/snapTrade/registerUser: ${status}: ${detail} (${remedy})`)
  throw fail({ kind: 'misconfigured', status, detail: `${detail} (${remedy})` })
}

async function begin(
  choices: Choices,
  own: OwnKey,
  { login, institutionId, renews, returnUrl }: LinkingRequest,
  call: CallContext,
): Promise<{ readonly address: string }> {
  const asker = demandUser(own, login)
  const broker =
    renews !== null || institutionId === null ? null : await findSlug(choices, institutionId, call)
  const request = {
    method: 'POST',
    route: '/snapTrade/login',
    json: {
      connectionType: 'read',
      customRedirect: new URL(returnUrl).href,
      immediateRedirect: true,
      ...(broker === null ? {} : { broker }),
      ...(renews === null ? {} : { reconnect: renews.upstreamId }),
    },
  } as const
  const { redirectURI } = await choices.client
    .fetchParsed(WirePortal, request, asker, call)
    .catch((error: unknown) => explainPortal(error, renews !== null))
  const address = readPageAddress(redirectURI)
  if (address === null) throw malformed('the address of the portal is no address for a browser')
  return { address }
}

/** Only a user of the commercial key has a portal here. */
function demandUser(own: OwnKey, login: Login | null): Asker {
  const asker = login === null ? null : toAsker(own, login)
  if (asker?.kind === 'user') return asker
  const detail =
    asker === null
      ? 'the secret of this SnapTrade user is lost: remove its connections, then link again'
      : 'a personal key has no consent page here: connect a broker in the SnapTrade Dashboard'
  throw fail({ kind: 'rejected', status: 409, isPersonal: true, detail })
}

/** 401: the user or its secret is not valid; 404 of a renewal: the connection is gone. */
function explainPortal(error: unknown, isRenewal: boolean): never {
  if (isRenewal && rejectedStatus(error) === 404) {
    throw fail({ kind: 'consent_lost', becomes: 'revoked', detail: consentGone })
  }
  throw toLoginFailure(error)
}

/** What comes back is not signed: it only says what to look for, and `discover` finds it or not. */
function readReturn({ login, query }: ReturnRequest): LinkingReturn {
  switch (query.get('status')) {
    case 'SUCCESS': {
      // The person's user was registered before the portal was opened, so there is a login.
      if (login === null) return { kind: 'failed', reason: 'expired', code: 'no_login' }
      const { upstreamUserId, secret } = login
      return { kind: 'agreed', identity: { upstreamUserId, secret, isPersonal: false } }
    }
    case 'ABANDONED':
      return { kind: 'failed', reason: 'cancelled', code: 'ABANDONED' }
    case 'ERROR':
      return readError(query.get('error_code') ?? '')
    default:
      return { kind: 'failed', reason: 'unavailable', code: 'no_status' }
  }
}

/** The codes of the portal (docs/providers/snaptrade.md, Linking). */
const reasons: ReadonlyMap<string, LinkingFailure> = new Map([
  ['1066', 'sign_in_refused'],
  ['1086', 'sign_in_refused'],
  ['1012', 'sign_in_refused'],
  ['1006', 'expired'],
  ['1023', 'different_account'],
  ['1140', 'ineligible'],
  ['3000', 'unavailable'],
  ['0000', 'misconfigured'],
])

function readError(code: string): LinkingReturn {
  const reason = reasons.get(code) ?? 'unavailable'
  return { kind: 'failed', reason, code: /^\d{1,6}$/.test(code) ? code : 'no_code' }
}
