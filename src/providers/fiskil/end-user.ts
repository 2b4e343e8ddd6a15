/** The end user at Fiskil who stands for a person: whether one exists, and its deletion. */
import type { Credentials, Identity } from '../credentials.ts'
import type { CallContext, Login } from '../port.ts'
import type { FiskilClient } from './client.ts'
import { isUnknownAddress, refusalCode, rejected } from './failures.ts'

/** The end user id is not secret: it gives no access without our client credentials. */
export async function identify(
  client: FiskilClient,
  credentials: Credentials,
  call: CallContext,
): Promise<Identity> {
  if (credentials.provider !== 'fiskil') {
    throw rejected(400, `these are credentials of ${credentials.provider}`)
  }
  try {
    await client.one('GET', '/v1/end-users', credentials.endUserId, call)
  } catch (error) {
    // Where this path does not exist, the list of their consents answers the question.
    if (!isUnknownAddress(error)) throw error
  }
  return { upstreamUserId: credentials.endUserId, secret: null, isPersonal: false }
}

/** Deletes the end user with every consent. An unknown one was deleted before; another 404 is a wrong URL. */
export async function deleteEndUser(
  client: FiskilClient,
  { upstreamUserId }: Login,
  call: CallContext,
): Promise<void> {
  try {
    await client.one('DELETE', '/v1/end-users', upstreamUserId, call)
  } catch (error) {
    if (refusalCode(error) !== 'end_user_not_found') throw error
  }
}
