/**
 * Which sessions began links in this browser: a sealed cookie, for its person, as long as a link lives. Who
 * signs out and in again while the provider's page is open still ends the link here; no other browser and no
 * other person can.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { defineNotes } from '#auth/sign-in/sealed-notes.ts'
import type { Session } from '#auth/sign-in/sessions.ts'
import { linkingLifeMs } from '#connections/linking/linking-attempt.ts'
import { parseUuid, type SessionId, type UserId } from '#kernel/ids.ts'
import type { PagesContext } from '../context.ts'

const begun = defineNotes('links-begun-here', linkingLifeMs, { sessions: z.array(z.string()) })

/** The newest sessions of a person; in one of them any number of links can be begun. */
const maxSessions = 10

type Options = Pick<PagesContext, 'cookies' | 'sealer' | 'clock'>

/** Call it with the redirect to the provider's page. */
export function rememberBegun(
  options: Options,
  { request, reply }: Browser,
  { id, userId }: Pick<Session, 'id' | 'userId'>,
): void {
  const others = readBegun(options, request, userId).filter((one) => one !== id)
  const text = begun.seal(options, userId, { sessions: [id, ...others].slice(0, maxSessions) })
  options.cookies.setSealed(reply, 'link', text, linkingLifeMs / 1000)
}

interface Browser {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

/** The sessions in which this person began links in this browser, the newest first. */
export function readBegun(
  options: Options,
  request: FastifyRequest,
  userId: UserId,
): readonly SessionId[] {
  const note = begun.open(options, userId, options.cookies.sealed(request, 'link'))
  const sessions = note?.sessions.map((text) => parseUuid<SessionId>(text)) ?? []
  return sessions.filter((id) => id !== null)
}
