/** Home, sign-in, sign-up and sign-out: forms in, pages and redirects out. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { UserId } from '#kernel/ids.ts'
import { unreachable } from '#kernel/unreachable.ts'
import {
  renderHome,
  renderNotice,
  renderSignIn,
  renderSignUp,
  type SignInParts,
  type SignUpParts,
} from './account-pages.ts'
import { formOf, localPath } from './forms.ts'
import type { PagesContext } from './pages-door.ts'
import type { Visit } from './visit.ts'

interface WithReturn {
  Querystring: { readonly return?: string | string[] }
}

/** One text for every way in which a sign-in can be wrong. */
const refusedText = 'The e-mail address or the password is wrong.'
const slowDownText = (seconds: number) => `Too many attempts. Try again in ${seconds} seconds.`

/** Adds them all. */
export function addAccountRoutes(scope: FastifyInstance, context: PagesContext): void {
  const { accounts, sessions, cookies, visits } = context

  scope.get('/', async (request, reply) => {
    const visit = await visits.begin(request, reply)
    const facts = { mcpUrl: `${context.origins().mcp}/mcp`, signUpIsOpen: accounts.signUpIsOpen }
    return context.show(reply, visit, { title: 'Start', body: renderHome(visit.user, facts) })
  })

  addSignInRoutes(scope, context)
  addSignUpRoutes(scope, context)

  scope.post('/sign-out', async (request, reply) => {
    const visit = await visits.accept(request, reply, {
      form: formOf(request),
      arriving: false,
    })
    if (visit === null) return context.refusePost(request, reply)
    if (visit.session !== null) await sessions.end(visit.session)
    cookies.clearSession(reply)
    return reply.redirect('/', 303)
  })
}

/** Another token than before: who knew the old cookie is not signed in by it (session fixation). */
async function enter(
  { sessions, cookies }: PagesContext,
  { reply, visit }: { readonly reply: FastifyReply; readonly visit: Visit },
  userId: UserId,
): Promise<void> {
  if (visit.session !== null) await sessions.end(visit.session)
  const { token } = await sessions.start(userId)
  cookies.setSession(reply, token)
}

function addSignInRoutes(scope: FastifyInstance, context: PagesContext): void {
  const { accounts, visits, addressOf } = context

  function show(
    reply: FastifyReply,
    visit: Visit,
    parts: Pick<SignInParts, 'returnTo' | 'email' | 'message' | 'isRefused'>,
  ): FastifyReply {
    const again = visit.user !== null
    const body = renderSignIn({
      ...parts,
      email: visit.user?.email ?? parts.email,
      formToken: visit.formToken,
      again,
      signUpIsOpen: accounts.signUpIsOpen,
    })
    return context.show(reply, visit, { title: again ? 'Confirm it is you' : 'Sign in', body })
  }

  scope.get<WithReturn>('/sign-in', async (request, reply) => {
    const visit = await visits.begin(request, reply)
    const returnTo = returnOf(request)
    if (visit.session?.isFresh === true) return reply.redirect(returnTo, 303)
    return show(reply, visit, { returnTo, email: '', message: null, isRefused: false })
  })

  scope.post('/sign-in', async (request, reply) => {
    const form = formOf(request)
    const visit = await visits.accept(request, reply, { form, arriving: true })
    if (visit === null) return context.refusePost(request, reply)
    const returnTo = localPath(form.get('return'))
    const given = { email: form.get('email') ?? '', password: form.get('password') ?? '' }
    const result = await accounts.signIn(given, addressOf(request))
    if (result.kind === 'in') {
      await enter(context, { reply, visit }, result.user.id)
      return reply.redirect(returnTo, 303)
    }
    const { email } = given
    if (result.kind === 'slow_down') {
      reply.code(429).header('retry-after', String(result.retryAfterSeconds))
      const message = slowDownText(result.retryAfterSeconds)
      return show(reply, visit, { returnTo, email, message, isRefused: false })
    }
    reply.code(401)
    return show(reply, visit, { returnTo, email, message: refusedText, isRefused: true })
  })
}

function addSignUpRoutes(scope: FastifyInstance, context: PagesContext): void {
  const { accounts, visits, addressOf } = context

  function show(reply: FastifyReply, visit: Visit, parts: Omit<SignUpParts, 'formToken'>) {
    const body = renderSignUp({ ...parts, formToken: visit.formToken })
    return context.show(reply, visit, { title: 'Make an account', body })
  }

  function showClosed(reply: FastifyReply, visit: Visit): FastifyReply {
    reply.code(403)
    const body = renderNotice(
      'Accounts are made by the operator',
      'Nobody can sign up on this server. Ask whoever runs it for an account.',
    )
    return context.show(reply, visit, { title: 'Sign-up is closed', body })
  }

  scope.get<WithReturn>('/sign-up', async (request, reply) => {
    const visit = await visits.begin(request, reply)
    if (!accounts.signUpIsOpen) return showClosed(reply, visit)
    const values = { name: '', email: '' }
    return show(reply, visit, { returnTo: returnOf(request), values, problems: {}, message: null })
  })

  scope.post('/sign-up', async (request, reply) => {
    const form = formOf(request)
    const visit = await visits.accept(request, reply, { form, arriving: true })
    if (visit === null) return context.refusePost(request, reply)
    const returnTo = localPath(form.get('return'))
    const values = { name: form.get('name') ?? '', email: form.get('email') ?? '' }
    const given = { ...values, password: form.get('password') ?? '' }
    const result = await accounts.signUp(given, addressOf(request))
    switch (result.kind) {
      case 'made':
        await enter(context, { reply, visit }, result.user.id)
        return reply.redirect(returnTo, 303)
      case 'closed':
        return showClosed(reply, visit)
      case 'slow_down': {
        reply.code(429).header('retry-after', String(result.retryAfterSeconds))
        const message = slowDownText(result.retryAfterSeconds)
        return show(reply, visit, { returnTo, values, problems: {}, message })
      }
      case 'invalid': {
        reply.code(400)
        const message = 'Something is missing or cannot be used; see below.'
        return show(reply, visit, { returnTo, values, problems: result.problems, message })
      }
      default:
        return unreachable(result)
    }
  })
}

function returnOf(request: FastifyRequest<WithReturn>): string {
  const given = request.query.return
  return localPath(typeof given === 'string' ? given : null)
}
