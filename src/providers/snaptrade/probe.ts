/**
 * Checks the key of the variables: whether SnapTrade accepts it, and whether it is of the kind that
 * `SNAPTRADE_KEY` says. What it finds is reported; the kind is never changed by it.
 */
import { UpstreamError, type UpstreamFailure } from '../failure.ts'
import type { CallContext, ProbeReply } from '../port.ts'
import type { ClientRequest, SnapTradeClient } from './client.ts'
import { fail } from './failures.ts'
import type { Asker, OwnKey } from './keys.ts'
import { type WireAuthorization, WireAuthorizations, WirePartner } from './wire.ts'

/** What a client id may do: the cheapest signed call without a user. */
const partnerRequest: ClientRequest = { route: '/snapTrade/partners' }
const connectionList: ClientRequest = { route: '/authorizations' }
/** Connections of the free plan (docs/providers/snaptrade.md, Access). */
const freeConnections = 5

/** Without a key of the variables only the way to SnapTrade and its clock are checked. */
export async function probe(
  client: SnapTradeClient,
  own: OwnKey | null,
  call: CallContext,
): Promise<ProbeReply> {
  const reply = await client.askTime(call)
  if (reply.failure !== null || own === null) return reply
  try {
    if (own.kind === 'commercial') await checkCommercialKey(client, own, call)
    else return { ...reply, note: await checkOwnPersonalKey(client, own, call) }
    return reply
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error
    return { ...reply, failure: toOurFault(error.failure) }
  }
}

/**
 * A personal key is accepted by the call that names no person too. It has neither logo nor return address, so
 * only where both are missing it is asked for connections, which a commercial key refuses without a user.
 */
async function checkCommercialKey(
  client: SnapTradeClient,
  key: OwnKey,
  call: CallContext,
): Promise<void> {
  const asker: Asker = { kind: 'app', key }
  const partner = await client.fetchParsed(WirePartner, partnerRequest, asker, call)
  if (partner.logo_url || partner.redirect_uri) return
  if ((await client.fetchStatus(connectionList, asker, call)) !== 200) return
  const detail = 'the key of SNAPTRADE_CLIENT_ID is a personal key: set SNAPTRADE_KEY=personal'
  throw fail({ kind: 'misconfigured', status: 200, detail })
}

async function checkOwnPersonalKey(
  client: SnapTradeClient,
  key: OwnKey,
  call: CallContext,
): Promise<string> {
  const asker: Asker = { kind: 'personal', key, isOfVariables: true }
  const { length } = await checkPersonalKey(client, asker, call)
  const accepted = `personal key of ${key.clientId} accepted`
  if (length === 0) return `${accepted}; no broker is connected in the SnapTrade Dashboard yet`
  if (length <= freeConnections) return accepted
  return `${accepted}; it has ${length} connections, the free plan may be limited to ${freeConnections}`
}

/**
 * The connections of a personal key. Throws `misconfigured` for a refused key of the variables,
 * `consent_lost` for one that a person brought, and `rejected` for a key that turns out to be commercial.
 */
export async function checkPersonalKey(
  client: SnapTradeClient,
  asker: Extract<Asker, { readonly kind: 'personal' }>,
  call: CallContext,
): Promise<readonly WireAuthorization[]> {
  const partner = await client.fetchParsed(WirePartner, partnerRequest, asker, call)
  if (partner.slug !== asker.key.clientId) {
    const detail = 'SnapTrade answers for another client id: copy client id and consumer key again'
    throw fail({ kind: 'rejected', status: 401, detail })
  }
  try {
    return await client.fetchParsed(WireAuthorizations, connectionList, asker, call)
  } catch (error) {
    // The key itself was accepted, so a refusal here demands a user, whom only commercial keys have.
    if (!(error instanceof UpstreamError) || !isRefusal(error.failure)) throw error
    const remedy = asker.isOfVariables
      ? 'set SNAPTRADE_KEY=commercial'
      : 'make a key in a Personal account of the SnapTrade Dashboard'
    const detail = `SnapTrade demands a user, so this is a commercial key, not a personal one: ${remedy}`
    throw fail({ kind: 'rejected', status: 401, detail })
  }
}

/** A 401, as `failures.ts` converts it for a personal key. */
function isRefusal(failure: UpstreamFailure): boolean {
  if (failure.kind === 'misconfigured') return failure.status === 401
  return failure.kind === 'consent_lost' && failure.wholeLogin === true
}

/** Only the key of the variables was used, so a refusal concerns this installation. */
function toOurFault(failure: UpstreamFailure): UpstreamFailure {
  const isOurs = failure.kind === 'rejected' && [401, 403].includes(failure.status)
  return isOurs ? { ...failure, kind: 'misconfigured' } : failure
}
