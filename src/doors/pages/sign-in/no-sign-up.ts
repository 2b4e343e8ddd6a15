/** The page where nobody can sign up without being invited, or at all. */
import type { FastifyReply } from 'fastify'
import type { PagesContext } from '../context.ts'
import { renderNotice } from '../notices.ts'
import type { Visit } from '../visit.ts'

export function showNoSignUp(
  context: PagesContext,
  reply: FastifyReply,
  visit: Visit,
): FastifyReply {
  const body =
    context.byMail.signUp === 'closed'
      ? renderNotice(
          'Sign-up is closed',
          'Nobody can sign up on this server. Accounts are created by the operator: ask whoever runs it.',
        )
      : renderNotice(
          'Sign-up is by invitation',
          'Accounts are created by the operator of this server, or with the link of an invitation: ask whoever runs it.',
        )
  return context.show(reply.code(403), visit, { title: 'Sign-up is closed', body })
}
