/** Signing in with a passkey alone: the form that the script of the sign-in page sends. */
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { PasskeyResult } from '#auth/sign-in/passkeys/uses.ts'
import type { PagesContext } from '../context.ts'
import { formOf, localPath } from '../forms.ts'
import { readPasskeyForm, refusedPasskey, staleText } from '../passkey-form.ts'
import { askToRetry, enter } from './entering.ts'
import { showSignIn } from './show-sign-in.ts'
import { passkeyPath } from './sign-in-page.ts'

export function addPasskeySignIn(scope: FastifyInstance, context: PagesContext): void {
  const { signIns, cookies, visits } = context

  // A reload after a refusal shows the page.
  scope.get(passkeyPath, async (_request, reply) => reply.redirect('/sign-in', 303))

  scope.post(passkeyPath, async (request, reply) => {
    const form = formOf(request)
    const visit = await visits.accept(request, reply, { form, arriving: true })
    if (visit === null) return context.refusePost(request, reply)
    const returnTo = localPath(form.get('return'))
    const { address, formToken: binding } = visit
    const source = { address, browser: cookies.browser(request), binding }
    const coming = { request, reply, visit }
    const result = await signIns.passkeys.signIn(readPasskeyForm(form), source)
    if (result.kind === 'in' && (await enter(context, coming, result))) {
      return reply.redirect(returnTo, 303)
    }
    const message = describeRefusal(reply, result)
    return showSignIn(context, coming, { returnTo, email: '', isRefused: false, message })
  })
}

/** Sets the status too. */
function describeRefusal(reply: FastifyReply, result: PasskeyResult): string {
  if (result.kind === 'slow_down' || result.kind === 'busy') return askToRetry(reply, result)
  reply.code(result.kind === 'stale' ? 400 : 401)
  return result.kind === 'stale' ? staleText : refusedPasskey
}
