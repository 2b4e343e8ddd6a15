/**
 * Forms behind mailed links: a GET shows the form and changes nothing, the POST uses the link. Every answer
 * that needs no token is a page of its own, so that reloading it sends nothing again.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { JudgedToken } from '#auth/sign-in/by-mail.ts'
import type { By, Visitor } from '#contract/actor.ts'
import type { PagesContext } from '../context.ts'
import { formOf, toSignIn } from '../forms.ts'
import { renderNotice } from '../notices.ts'
import { askToRetry } from '../sign-in/entering.ts'
import { addForm, readDone, toBy } from '../signed-in.ts'
import { isSignedIn } from '../visit.ts'
import { addInvitationRoutes } from './invitation.ts'
import {
  renderAsked,
  renderChanged,
  renderChoose,
  renderConfirm,
  renderConfirmed,
  renderForgot,
  renderSentAgain,
  sentAgain,
} from './link-page.ts'
import { showVoid } from './void-link.ts'

interface TokenPath {
  Params: { readonly token: string }
}

export function addByMailRoutes(scope: FastifyInstance, context: PagesContext): void {
  addForgotRoutes(scope, context)
  addResetRoutes(scope, context)
  addConfirmRoutes(scope, context)
  addSendAgainRoutes(scope, context)
  addInvitationRoutes(scope, context)
}

/** The sender of a form, who need not be signed in. */
function toVisitor({ addressOf }: PagesContext, request: FastifyRequest): By<Visitor> {
  return { actor: { kind: 'visitor', address: addressOf(request) } }
}

function addForgotRoutes(scope: FastifyInstance, context: PagesContext): void {
  const { visits, byMail } = context
  const title = 'Forgot your password?'

  scope.get('/forgot-password', async (request, reply) => {
    const visit = await visits.begin(request, reply)
    const asked = readDone(context, reply, { asked: true }) !== null
    const form = { formToken: visit.formToken, email: '', message: null }
    const body = asked ? renderAsked(byMail.isMailed) : renderForgot(form)
    return context.show(reply, visit, { title, body })
  })

  scope.post('/forgot-password', async (request, reply) => {
    const form = formOf(request)
    const visit = await visits.accept(request, reply, { form, arriving: true })
    if (visit === null) return context.refusePost(request, reply)
    const email = form.get('email') ?? ''
    const result = await byMail.askForPassword(toVisitor(context, request), email)
    if (result.kind === 'asked') return reply.redirect('/forgot-password?done=asked', 303)
    const message = askToRetry(reply, result)
    const body = renderForgot({ formToken: visit.formToken, email, message })
    return context.show(reply, visit, { title, body })
  })
}

function addResetRoutes(scope: FastifyInstance, context: PagesContext): void {
  const { visits, byMail } = context
  const title = 'Choose a new password'

  scope.get<TokenPath>('/reset-password/:token', async (request, reply) => {
    const visit = await visits.begin(request, reply)
    const { token } = request.params
    const found = await byMail.find('reset', token, visit.address)
    if (found.kind === 'void') return showVoid(context, { reply, visit }, 'reset', found.why)
    const options = { formToken: visit.formToken, ...toParts(token, found) }
    const body = renderChoose({ ...options, message: null })
    return context.show(reply, visit, { title, body })
  })

  scope.post<TokenPath>('/reset-password/:token', async (request, reply) => {
    const form = formOf(request)
    const visit = await visits.accept(request, reply, { form, arriving: true })
    if (visit === null) return context.refusePost(request, reply)
    const { token } = request.params
    const found = await byMail.find('reset', token, visit.address)
    const newPassword = form.get('newPassword') ?? ''
    const by = toVisitor(context, request)
    const result = await byMail.choosePassword(by, token, newPassword)
    if (result.kind === 'done') return reply.redirect('/password-changed', 303)
    if (result.kind === 'void') return showVoid(context, { reply, visit }, 'reset', result.why)
    const options = { formToken: visit.formToken, ...toParts(token, found) }
    if (result.kind === 'invalid') {
      const body = renderChoose({ ...options, message: null, problem: result.problem })
      return context.show(reply.code(400), visit, { title, body })
    }
    const body = renderChoose({ ...options, message: askToRetry(reply, result) })
    return context.show(reply, visit, { title, body })
  })

  scope.get('/password-changed', async (request, reply) => {
    const visit = await visits.begin(request, reply)
    return context.show(reply, visit, { title: 'Password changed', body: renderChanged() })
  })
}

function toParts(token: string, found: JudgedToken) {
  const email = found.kind === 'valid' ? found.row.email : ''
  return { path: `/reset-password/${token}`, email, replaces: found.replaces !== null }
}

function addConfirmRoutes(scope: FastifyInstance, context: PagesContext): void {
  const { visits, byMail } = context
  const title = 'Confirm your address'

  scope.get<TokenPath>('/confirm-address/:token', async (request, reply) => {
    const visit = await visits.begin(request, reply)
    const { token } = request.params
    const found = await byMail.find('confirmation', token, visit.address)
    if (found.kind === 'void') return showVoid(context, { reply, visit }, 'confirmation', found.why)
    const { userId, email } = found.row
    const reader =
      visit.user === null ? 'nobody' : visit.user.id === userId ? 'owner' : visit.user.email
    const path = `/confirm-address/${token}`
    const body = renderConfirm({ formToken: visit.formToken, path, email, reader })
    return context.show(reply, visit, { title, body })
  })

  scope.post<TokenPath>('/confirm-address/:token', async (request, reply) => {
    const form = formOf(request)
    const visit = await visits.accept(request, reply, { form, arriving: true })
    if (visit === null) return context.refusePost(request, reply)
    const { token } = request.params
    const path = `/confirm-address/${encodeURIComponent(token)}`
    if (!isSignedIn(visit)) return toSignIn(reply, path)
    const result = await byMail.confirm(toBy(visit), token)
    if (result.kind === 'done') return reply.redirect('/address-confirmed', 303)
    // Somebody else is signed in here: the page says so.
    if (result.kind === 'others') return reply.redirect(path, 303)
    return showVoid(context, { reply, visit }, 'confirmation', result.why)
  })

  scope.get('/address-confirmed', async (request, reply) => {
    const visit = await visits.begin(request, reply)
    return context.show(reply, visit, { title: 'Address confirmed', body: renderConfirmed() })
  })
}

/** The button of the banner that a person sees until the address is confirmed. */
function addSendAgainRoutes(scope: FastifyInstance, context: PagesContext): void {
  const { visits, byMail } = context
  const title = 'Confirm your address'

  addForm(scope, context, { path: '/confirm-address', returnTo: '/' }, async (turn) => {
    const isSent = await byMail.sendConfirmation(toBy(turn.visit))
    return turn.reply.redirect(`/confirm-address?done=${isSent ? 'sent' : 'later'}`, 303)
  })

  scope.get('/confirm-address', async (request, reply) => {
    const visit = await visits.begin(request, reply)
    const done = readDone(context, reply, sentAgain)
    const body =
      done === null
        ? renderNotice(title, 'Open the link in the mail that you got.')
        : renderSentAgain(done)
    return context.show(reply, visit, { title, body })
  })
}
