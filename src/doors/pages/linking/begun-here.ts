/**
 * Which session began a link in this browser: a sealed cookie, for its person, as long as the link lives. Who
 * signs out and in again while the provider's page is open still ends the link here; no other browser and no
 * other person can.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Session } from '#auth/sign-in/sessions.ts'
import { linkingLifeMs } from '#connections/linking-attempt.ts'
import { parseUuid, type SessionId, type UserId } from '#kernel/ids.ts'
import { SealError } from '#store/seal.ts'
import type { PagesContext } from '../context.ts'

const purpose = 'link-begun-here'

const Begun = z.strictObject({ session: z.string(), until: z.int() })

type Options = Pick<PagesContext, 'cookies' | 'sealer' | 'clock'>

/** Call it with the redirect to the provider's page. */
export function rememberBegun(
  { cookies, sealer, clock }: Options,
  reply: FastifyReply,
  { id, userId }: Pick<Session, 'id' | 'userId'>,
): void {
  const begun = { session: id, until: clock.now() + linkingLifeMs }
  const sealed = sealer.seal(purpose, userId, Buffer.from(JSON.stringify(begun), 'utf8'))
  const text = Buffer.from(sealed).toString('base64url')
  cookies.setSealed(reply, 'link', text, linkingLifeMs / 1000)
}

/** The session in which this person began a link in this browser; null: none is known. */
export function readBegun(
  { cookies, sealer, clock }: Options,
  request: FastifyRequest,
  userId: UserId,
): SessionId | null {
  const text = cookies.sealed(request, 'link')
  if (text === null) return null
  try {
    const bytes = sealer.open(purpose, userId, Buffer.from(text, 'base64url'))
    const { session, until } = Begun.parse(JSON.parse(Buffer.from(bytes).toString('utf8')))
    return clock.now() < until ? parseUuid<SessionId>(session) : null
  } catch (error) {
    // Another person's, or damaged.
    if (error instanceof SealError) return null
    throw error
  }
}
