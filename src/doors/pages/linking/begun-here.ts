/**
 * Which session began a link in this browser: a sealed cookie, for its person, as long as the link lives. Who
 * signs out and in again while the provider's page is open still ends the link here; no other browser and no
 * other person can.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { defineNotes } from '#auth/sign-in/sealed-notes.ts'
import type { Session } from '#auth/sign-in/sessions.ts'
import { linkingLifeMs } from '#connections/linking-attempt.ts'
import { parseUuid, type SessionId, type UserId } from '#kernel/ids.ts'
import type { PagesContext } from '../context.ts'

const begun = defineNotes('link-begun-here', linkingLifeMs, { session: z.string() })

type Options = Pick<PagesContext, 'cookies' | 'sealer' | 'clock'>

/** Call it with the redirect to the provider's page. */
export function rememberBegun(
  options: Options,
  reply: FastifyReply,
  { id, userId }: Pick<Session, 'id' | 'userId'>,
): void {
  const text = begun.seal(options, userId, { session: id })
  options.cookies.setSealed(reply, 'link', text, linkingLifeMs / 1000)
}

/** The session in which this person began a link in this browser; null: none is known. */
export function readBegun(
  options: Options,
  request: FastifyRequest,
  userId: UserId,
): SessionId | null {
  const note = begun.open(options, userId, options.cookies.sealed(request, 'link'))
  return note === null ? null : parseUuid<SessionId>(note.session)
}
