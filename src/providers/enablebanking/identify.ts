/** What links a person at Enable Banking without its page: an application of their own, or a session. */
import assert from 'node:assert/strict'
import { isTrueKey, readPrivateKey } from '#kernel/rsa-key.ts'
import type { Credentials, Identity } from '../credentials.ts'
import { UpstreamError } from '../failure.ts'
import type { CallContext, Login } from '../port.ts'
import type { Application } from './application.ts'
import { applicationOf, type Reach } from './consent.ts'
import { refused } from './failures.ts'
import { readApplication } from './institutions.ts'
import { adoptSession } from './keep-session.ts'
import { nameApplication, writeSecret } from './secret.ts'

/**
 * Whose credentials these are: an application of the person's own, which then opens a bank's page, or a
 * session that was authorised elsewhere with the same application.
 */
export async function identify(
  reach: Reach,
  credentials: Credentials,
  known: readonly Login[],
  call: CallContext,
): Promise<Identity> {
  assert(credentials.provider === 'enablebanking', 'the credentials are for Enable Banking')
  const { session, applicationId, privateKey } = credentials
  const own = await readOwn(applicationId, privateKey)
  if (own !== null) await demandAccepted(reach, own, call)
  if (session !== undefined) {
    const application = own ?? applicationOf(reach, null)
    return adoptSession(reach, { application, session, known }, call)
  }
  if (own === null) {
    throw refused(
      'give --session, the id of an authorised session; or link on the page Connections, where the bank’s own page asks for the consent',
    )
  }
  const { id, privateKey: key } = own
  return {
    upstreamUserId: nameApplication(own),
    secret: writeSecret({ application: { id, privateKey: key }, session: null, bank: null }),
    isPersonal: true,
    needsConsent: true,
    ifNothing:
      'The application is accepted and kept for this person. Consent is given in a browser: they open the page Connections; or give --session.',
  }
}

/** @throws UpstreamError `rejected` */
async function readOwn(
  id: string | undefined,
  key: string | undefined,
): Promise<Application | null> {
  if (id === undefined && key === undefined) return null
  if (id === undefined || key === undefined) {
    throw refused('give the application id and its private key together')
  }
  const read = readPrivateKey(key)
  if (read.kind === 'problem') throw refused(`the private key ${read.detail}`)
  if (!(await isTrueKey(read.pem))) {
    throw refused(
      'the private key is damaged: it makes no valid signature; copy the whole file again',
    )
  }
  return { id, privateKey: read.pem, isOwn: true }
}

/** @throws UpstreamError `rejected`: about the key that the person brought. */
async function demandAccepted(
  reach: Reach,
  application: Application,
  call: CallContext,
): Promise<void> {
  try {
    await readApplication(reach.client, application, call)
  } catch (error) {
    const isRefused = error instanceof UpstreamError && error.failure.kind === 'misconfigured'
    if (!isRefused) throw error
    throw refused(
      'this application id and this private key do not belong together, or the application was deleted; copy both again from the control panel. The clock of this server must be right, too',
      error,
    )
  }
}
