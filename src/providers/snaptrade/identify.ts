/** Proves the credentials of a person who is to be linked, and says what is stored of them. */
import type { Credentials, Identity } from '../credentials.ts'
import { UpstreamError } from '../failure.ts'
import type { CallContext } from '../port.ts'
import { chooseAsker } from './choose-key.ts'
import type { SnapTradeClient } from './client.ts'
import { fail } from './failures.ts'
import { type Asker, type OwnKey, toSecret } from './keys.ts'
import { checkPersonalKey } from './probe.ts'
import { WireAuthorizations } from './wire.ts'

const nothingConnected =
  'This personal key has no connections: connect a broker in the SnapTrade Dashboard (or in its connection portal), then link again.'

/**
 * Throws `rejected` for a form that is not allowed, without a request, and for credentials that do not work.
 */
export async function identify(
  client: SnapTradeClient,
  own: OwnKey | null,
  credentials: Credentials,
  call: CallContext,
): Promise<Identity> {
  if (credentials.provider !== 'snaptrade') {
    throw fail({ kind: 'rejected', status: 400, detail: 'these are not SnapTrade credentials' })
  }
  const asker = chooseAsker(own, credentials)
  return asker.kind === 'personal'
    ? identifyPersonal(client, asker, call)
    : identifyUser(client, asker, call)
}

/** SnapTrade's only data about a user are the connections: listing them proves id and secret. */
async function identifyUser(
  client: SnapTradeClient,
  asker: Asker & { readonly kind: 'user' },
  call: CallContext,
): Promise<Identity> {
  await client.fetchParsed(WireAuthorizations, { route: '/authorizations' }, asker, call)
  return { upstreamUserId: asker.userId, secret: asker.userSecret, isPersonal: false }
}

async function identifyPersonal(
  client: SnapTradeClient,
  asker: Asker & { readonly kind: 'personal' },
  call: CallContext,
): Promise<Identity> {
  const { key, isOfVariables } = asker
  try {
    await checkPersonalKey(client, asker, call)
  } catch (error) {
    throw isOfVariables ? error : toRefusedKey(error)
  }
  // The key of the variables is not stored a second time.
  const secret = isOfVariables ? null : toSecret(key)
  const upstreamUserId = key.clientId
  return { upstreamUserId, secret, isPersonal: true, ifNothing: nothingConnected }
}

/**
 * A refusal of a key that a person brings now says nothing of the key of the variables, and loses no consent.
 */
function toRefusedKey(error: unknown): unknown {
  if (!(error instanceof UpstreamError)) return error
  const { kind, detail } = error.failure
  if (kind !== 'consent_lost' && kind !== 'rejected') return error
  const status = kind === 'rejected' ? error.failure.status : 401
  return fail({ kind: 'rejected', status, isPersonal: true, detail })
}
