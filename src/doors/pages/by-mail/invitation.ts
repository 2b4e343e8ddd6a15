/** The page of an invitation: sign-up with the address that was invited. */
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { AcceptResult } from '#auth/sign-in/by-mail.ts'
import { unreachable } from '#kernel/unreachable.ts'
import type { PagesContext } from '../context.ts'
import { formOf } from '../forms.ts'
import { askToRetry, enter } from '../sign-in/entering.ts'
import { showNoSignUp } from '../sign-in/no-sign-up.ts'
import type { Visit } from '../visit.ts'
import { type InvitedOptions, renderInvited } from './link-page.ts'
import { showVoid } from './void-link.ts'

interface TokenPath {
  Params: { readonly token: string }
}

interface Turn {
  readonly reply: FastifyReply
  readonly visit: Visit
}

export function addInvitationRoutes(scope: FastifyInstance, context: PagesContext): void {
  const { visits, byMail, cookies, addressOf } = context

  scope.get<TokenPath>('/invitations/:token', async (request, reply) => {
    const visit = await visits.begin(request, reply)
    if (byMail.signUp === 'closed') return showNoSignUp(context, reply, visit)
    const { token } = request.params
    const found = await byMail.find('invitation', token, visit.address)
    if (found.kind === 'void') return showVoid(context, { reply, visit }, 'invitation', found.why)
    const { email } = found.row
    const path = `/invitations/${token}`
    const replaces = found.replaces !== null
    const options = { path, email, replaces, name: '', problems: {}, message: null }
    return show(context, { reply, visit }, options)
  })

  scope.post<TokenPath>('/invitations/:token', async (request, reply) => {
    const form = formOf(request)
    const visit = await visits.accept(request, reply, { form, arriving: true })
    if (visit === null) return context.refusePost(request, reply)
    const { token } = request.params
    const found = await byMail.find('invitation', token, visit.address)
    const name = form.get('name') ?? ''
    const given = {
      name,
      password: form.get('password') ?? '',
      timezone: form.get('timezone'),
    }
    const by = { actor: { kind: 'visitor', address: addressOf(request) } } as const
    const result = await byMail.accept(by, token, given, cookies.browser(request))
    if (result.kind === 'made') {
      const isIn = await enter(context, { request, reply, visit }, result)
      return reply.redirect(isIn ? '/welcome' : '/sign-in', 303)
    }
    const email = found.kind === 'valid' ? found.row.email : ''
    const path = `/invitations/${token}`
    const replaces = found.replaces !== null
    return refuse(context, { reply, visit }, result, { path, email, replaces, name })
  })
}

function show(
  context: PagesContext,
  { reply, visit }: Turn,
  options: Omit<InvitedOptions, 'formToken'>,
): FastifyReply {
  const body = renderInvited({ ...options, formToken: visit.formToken })
  return context.show(reply, visit, { title: 'Create account', body })
}

function refuse(
  context: PagesContext,
  turn: Turn,
  result: Exclude<AcceptResult, { readonly kind: 'made' }>,
  given: Pick<InvitedOptions, 'path' | 'email' | 'replaces' | 'name'>,
): FastifyReply {
  const { reply, visit } = turn
  switch (result.kind) {
    case 'closed':
      return showNoSignUp(context, reply, visit)
    case 'void':
      return showVoid(context, turn, 'invitation', result.why)
    case 'taken': {
      reply.code(400)
      const message = 'There is an account with this address; sign in instead.'
      return show(context, turn, { ...given, problems: {}, message })
    }
    case 'invalid': {
      reply.code(400)
      return show(context, turn, { ...given, problems: result.problems, message: null })
    }
    case 'slow_down':
    case 'busy':
      return show(context, turn, { ...given, problems: {}, message: askToRetry(reply, result) })
    default:
      return unreachable(result)
  }
}
