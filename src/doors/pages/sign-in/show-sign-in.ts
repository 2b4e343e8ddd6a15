/** Sends the sign-in page, whichever way of signing in led to it. */
import type { FastifyReply } from 'fastify'
import type { PagesContext } from '../context.ts'
import { type Coming, waitingAgent } from './entering.ts'
import { renderSignIn, type SignInOptions } from './sign-in-page.ts'

export type SignInShown = Pick<SignInOptions, 'returnTo' | 'email' | 'message' | 'isRefused'>

export async function showSignIn(
  context: PagesContext,
  { request, reply, visit }: Coming,
  options: SignInShown,
): Promise<FastifyReply> {
  const { signIns, interrupted } = context
  const { formToken } = visit
  const again = visit.user !== null
  const body = renderSignIn({
    ...options,
    agent: await waitingAgent(context, request, reply, options.returnTo),
    email: visit.user?.email ?? options.email,
    formToken,
    again,
    isInterrupted: interrupted.isInterrupted(request, options.returnTo),
    signUpIsOpen: signIns.signUpIsOpen,
    isSandbox: context.addMadeUpData !== null,
    passkey: signIns.passkeys.askToSignIn(request.headers.host, formToken),
  })
  return context.show(reply, visit, { title: again ? 'Confirm it is you' : 'Sign in', body })
}
