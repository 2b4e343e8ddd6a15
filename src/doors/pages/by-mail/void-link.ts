/** The page of a link that no longer works. */
import type { FastifyReply } from 'fastify'
import type { VoidReason } from '#auth/sign-in/single-use.ts'
import type { PagesContext } from '../context.ts'
import type { Visit } from '../visit.ts'
import { renderVoid } from './link-page.ts'

/** 410: the link was there, or may have been (RFC 9110 §15.5.11). */
export function showVoid(
  context: PagesContext,
  to: { readonly reply: FastifyReply; readonly visit: Visit },
  kind: Parameters<typeof renderVoid>[0],
  why: VoidReason,
): FastifyReply {
  const body = renderVoid(kind, why)
  return context.show(to.reply.code(410), to.visit, { title: 'Link cannot be used', body })
}
