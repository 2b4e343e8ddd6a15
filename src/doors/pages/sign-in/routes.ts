/** Sign-in, sign-up and sign-out: forms in, pages and redirects out. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { unreachable } from '#kernel/unreachable.ts'
import type { PagesContext } from '../context.ts'
import { formOf, localPath } from '../forms.ts'
import { toBy } from '../signed-in.ts'
import { isSignedIn, type Visit } from '../visit.ts'
import { addCodeForm, askForCode } from './code-routes.ts'
import { askToRetry, enter, returnOf, type WithReturn, waitingAgent } from './entering.ts'
import { showNoSignUp } from './no-sign-up.ts'
import { addPasskeySignIn } from './passkey-routes.ts'
import { showSignIn } from './show-sign-in.ts'
import { renderSignUp, type SignUpOptions } from './sign-in-page.ts'

/** One text for every refusal, so that it does not reveal whether the account exists. */
const refusedText = 'The e-mail address or the password is wrong.'

export function addSignInRoutes(scope: FastifyInstance, context: PagesContext): void {
  addSignInForm(scope, context)
  addPasskeySignIn(scope, context)
  addCodeForm(scope, context)
  addSignUpForm(scope, context)
  addSignOutRoute(scope, context)
}

function addSignInForm(scope: FastifyInstance, context: PagesContext): void {
  const { signIns, cookies, visits } = context

  scope.get<WithReturn>('/sign-in', async (request, reply) => {
    const visit = await visits.begin(request, reply)
    const returnTo = returnOf(request)
    if (visit.session?.isFresh === true) return reply.redirect(returnTo, 303)
    return showSignIn(
      context,
      { request, reply, visit },
      { returnTo, email: '', message: null, isRefused: false },
    )
  })

  scope.post('/sign-in', async (request, reply) => {
    const form = formOf(request)
    const visit = await visits.accept(request, reply, { form, arriving: true })
    if (visit === null) return context.refusePost(request, reply)
    const returnTo = localPath(form.get('return'))
    const given = { email: form.get('email') ?? '', password: form.get('password') ?? '' }
    const { address, formToken } = visit
    const result = await signIns.signIn(given, address, cookies.browser(request), formToken)
    if (result.kind === 'code') return askForCode(context, reply, result.note, returnTo)
    if (result.kind === 'in' && (await enter(context, { request, reply, visit }, result))) {
      return reply.redirect(returnTo, 303)
    }
    const { email } = given
    if (result.kind === 'slow_down' || result.kind === 'busy') {
      const message = askToRetry(reply, result)
      return showSignIn(
        context,
        { request, reply, visit },
        { returnTo, email, message, isRefused: false },
      )
    }
    reply.code(401)
    return showSignIn(
      context,
      { request, reply, visit },
      { returnTo, email, message: refusedText, isRefused: true },
    )
  })
}

function addSignUpForm(scope: FastifyInstance, context: PagesContext): void {
  const { signIns, cookies, visits } = context

  async function show(
    request: FastifyRequest,
    reply: FastifyReply,
    visit: Visit,
    options: Omit<SignUpOptions, 'formToken' | 'agent'>,
  ): Promise<FastifyReply> {
    const agent = await waitingAgent(context, request, reply, options.returnTo)
    const body = renderSignUp({ ...options, agent, formToken: visit.formToken })
    return context.show(reply, visit, { title: 'Create account', body })
  }

  scope.get<WithReturn>('/sign-up', async (request, reply) => {
    const visit = await visits.begin(request, reply)
    if (!signIns.signUpIsOpen) return showNoSignUp(context, reply, visit)
    const values = { name: '', email: '' }
    const returnTo = returnOf(request)
    return show(request, reply, visit, { returnTo, values, problems: {}, message: null })
  })

  scope.post('/sign-up', async (request, reply) => {
    const form = formOf(request)
    const visit = await visits.accept(request, reply, { form, arriving: true })
    if (visit === null) return context.refusePost(request, reply)
    const returnTo = localPath(form.get('return'))
    const values = { name: form.get('name') ?? '', email: form.get('email') ?? '' }
    const given = {
      ...values,
      password: form.get('password') ?? '',
      timezone: form.get('timezone'),
    }
    const visitor = { kind: 'visitor', address: visit.address } as const
    const result = await signIns.signUp({ actor: visitor }, given, cookies.browser(request))
    switch (result.kind) {
      case 'made':
        // An operator has changed the password meanwhile: the person must sign in with the new one.
        return (await enter(context, { request, reply, visit }, result))
          ? reply.redirect(returnTo === '/' ? '/welcome' : returnTo, 303)
          : reply.redirect(`/sign-in?return=${encodeURIComponent(returnTo)}`, 303)
      case 'closed':
        return showNoSignUp(context, reply, visit)
      case 'slow_down':
      case 'busy': {
        const message = askToRetry(reply, result)
        return show(request, reply, visit, { returnTo, values, problems: {}, message })
      }
      case 'invalid': {
        reply.code(400)
        return show(request, reply, visit, {
          returnTo,
          values,
          problems: result.problems,
          message: null,
        })
      }
      default:
        return unreachable(result)
    }
  })
}

function addSignOutRoute(scope: FastifyInstance, context: PagesContext): void {
  const { sessions, cookies, visits } = context

  scope.post('/sign-out', async (request, reply) => {
    const visit = await visits.accept(request, reply, {
      form: formOf(request),
      arriving: false,
    })
    if (visit === null) return context.refusePost(request, reply)
    if (isSignedIn(visit)) await sessions.end(toBy(visit), visit.session)
    cookies.clearSession(reply)
    return reply.redirect('/', 303)
  })
}
