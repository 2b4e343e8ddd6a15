/**
 * A person's token at Up: whose it is, whether it still works, and what an empty answer proves. There is one
 * token a person, and no call that ends it.
 */
import assert from 'node:assert/strict'
import { z } from 'zod'
import type { Credentials } from '../credentials.ts'
import { consentGone, UpstreamError } from '../failure.ts'
import type { CallContext, Login } from '../port.ts'
import { pingRequest, type UpClient } from './client.ts'
import { malformed } from './failures.ts'
import { isStorableId, readBody } from './lists.ts'

/** `up:yeah:` and more; the middle is a word of Up's own. */
const tokenPattern = /^up:[^:]+:./
/** The characters that a header allows; a token with any other could not be sent. */
const sendable = /^[\x21-\x7e]*$/
const maxTokenLength = 512

const Ping = z.object({ meta: z.object({ id: z.string().refine(isStorableId) }) })

/** Throws `consent_lost` for a login without a token. */
export function tokenOf(login: Login): string {
  if (login.secret !== null) return login.secret
  const failure = { kind: 'consent_lost', becomes: 'revoked', wholeLogin: true } as const
  throw new UpstreamError('up', { ...failure, detail: consentGone })
}

/** The customer of a token. Throws `consent_lost` or `rejected` for a token that does not work. */
export async function identify(client: UpClient, credentials: Credentials, call: CallContext) {
  assert(credentials.provider === 'up', 'the credentials are for Up')
  const { token } = credentials
  refuseMisshapen(token)
  const upstreamUserId = await ping(client, token, call)
  return { upstreamUserId, secret: token, isPersonal: true }
}

/** Resolves when an empty answer can be trusted: a token that works, so there is nothing indeed. */
export async function confirmEmpty(
  client: UpClient,
  login: Login,
  call: CallContext,
): Promise<void> {
  await ping(client, tokenOf(login), call)
}

/** The customer's id. */
async function ping(client: UpClient, token: string, call: CallContext): Promise<string> {
  const body = readBody(await client.get(token, pingRequest, call), JSON.parse)
  const parsed = Ping.safeParse(body)
  if (!parsed.success) throw malformed('the answer to a ping names no customer')
  return parsed.data.meta.id
}

/** Tells apart, without a call, what cannot be a token of Up. */
function refuseMisshapen(token: string): void {
  const detail = describeMisshapen(token)
  if (detail !== null) throw new UpstreamError('up', { kind: 'rejected', status: 401, detail })
}

function describeMisshapen(token: string): string | null {
  if (token === '') return 'there is no token; copy it from the Up app'
  if (!sendable.test(token)) {
    return 'the token has blanks, line ends or other characters that no token has; copy it again'
  }
  if (!tokenPattern.test(token)) {
    return 'a personal access token of Up starts with "up:yeah:", and more follows; copy the whole of it'
  }
  if (token.length <= maxTokenLength) return null
  return 'the token is longer than any of Up; copy it alone'
}
