/**
 * The second step of a sign-in: the code of the second factor, or a passkey. The note of the first step
 * crosses over in a cookie; without a valid one the sign-in begins again.
 */
import type { FastifyInstance, FastifyReply } from 'fastify'
import { noteLifeSeconds } from '#auth/sign-in/code-step.ts'
import type { PagesContext } from '../context.ts'
import { formOf, localPath, toSignIn } from '../forms.ts'
import { readPasskeyForm, refusedPasskey, staleText } from '../passkey-form.ts'
import { renderCode, titleOfStep } from './code-page.ts'
import {
  askToRetry,
  type Coming,
  enter,
  returnOf,
  type WithReturn,
  waitingAgent,
} from './entering.ts'

const path = '/sign-in/code'

/** Sends the browser from the password to the code. */
export function askForCode(
  { cookies }: PagesContext,
  reply: FastifyReply,
  note: string,
  returnTo: string,
): FastifyReply {
  cookies.setSealed(reply, 'code', note, noteLifeSeconds)
  return reply.redirect(`${path}?return=${encodeURIComponent(returnTo)}`, 303)
}

/** One text for every code that is not accepted. */
const refusedText = 'That code is wrong or was used already. Wait for the next one.'

/** The code may be right: this server cannot tell. */
export const damagedText =
  'This server cannot read the key of your app any more, so no code of it can be checked. A recovery code works; or ask the operator of this server to remove the second factor.'

export function addCodeForm(scope: FastifyInstance, context: PagesContext): void {
  const { signIns, cookies, visits } = context

  /** What the person can give; null: their password was not given in this browser just now. */
  const readChoice = ({ request, visit }: Coming) =>
    signIns.readSecondChoice(cookies.sealed(request, 'code'), {
      binding: visit.formToken,
      host: request.headers.host,
    })

  async function show(
    coming: Coming,
    returnTo: string,
    problem: { readonly message: string | null; readonly isRefused: boolean },
  ): Promise<FastifyReply> {
    const { request, reply, visit } = coming
    const choice = await readChoice(coming)
    if (choice === null) return toSignIn(reply, returnTo)
    const agent = await waitingAgent(context, request, reply, returnTo)
    const { formToken } = visit
    const passkeyHome = signIns.passkeys.home()
    const body = renderCode({ formToken, returnTo, agent, choice, passkeyHome, ...problem })
    return context.show(reply, visit, { title: titleOfStep(choice), body })
  }

  scope.get<WithReturn>(path, async (request, reply) => {
    const visit = await visits.begin(request, reply)
    const returnTo = returnOf(request)
    if ((await readChoice({ request, reply, visit })) === null) {
      return visit.session?.isFresh === true
        ? reply.redirect(returnTo, 303)
        : toSignIn(reply, returnTo)
    }
    return show({ request, reply, visit }, returnTo, { message: null, isRefused: false })
  })

  scope.post(path, async (request, reply) => {
    const form = formOf(request)
    const visit = await visits.accept(request, reply, { form, arriving: true })
    if (visit === null) return context.refusePost(request, reply)
    const returnTo = localPath(form.get('return'))
    const coming = { request, reply, visit }
    const given = form.has('credential')
      ? { passkey: readPasskeyForm(form) }
      : { code: form.get('code') ?? '' }
    const result = await signIns.giveCode(
      { note: cookies.sealed(request, 'code'), ...given },
      { address: visit.address, browser: cookies.browser(request), binding: visit.formToken },
    )
    if (result.kind === 'expired') {
      cookies.clearSealed(reply, 'code')
      return toSignIn(reply, returnTo)
    }
    if (result.kind === 'in' && (await enter(context, coming, result))) {
      cookies.clearSealed(reply, 'code')
      return reply.redirect(returnTo, 303)
    }
    if (result.kind === 'slow_down' || result.kind === 'busy') {
      return show(coming, returnTo, { message: askToRetry(reply, result), isRefused: false })
    }
    if (result.kind === 'damaged') {
      reply.code(503)
      return show(coming, returnTo, { message: damagedText, isRefused: true })
    }
    if (result.kind === 'stale') {
      reply.code(400)
      return show(coming, returnTo, { message: staleText, isRefused: false })
    }
    reply.code(401)
    return 'passkey' in given
      ? show(coming, returnTo, { message: refusedPasskey, isRefused: false })
      : show(coming, returnTo, { message: refusedText, isRefused: true })
  })
}
