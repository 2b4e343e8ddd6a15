/**
 * A person's second factor, beside passkeys: set up, recovery codes, switched off, all within ten minutes of
 * the password.
 */
import type { FastifyInstance, FastifyReply } from 'fastify'
import { setUpLifeSeconds } from '#auth/sign-in/second-factor.ts'
import { unreachable } from '#kernel/unreachable.ts'
import type { PagesContext } from '../context.ts'
import { toSignIn } from '../forms.ts'
import { damagedText } from '../sign-in/code-routes.ts'
import { askToRetry } from '../sign-in/entering.ts'
import {
  addForm,
  addPage,
  type FormTurn,
  readDone,
  type SignedInRequest,
  toBy,
} from '../signed-in.ts'
import { renderRemoveFactor, renderSecondFactor, renderSetUp } from './second-factor-page.ts'

const path = '/settings/second-factor'
const removal = `${path}/remove`
const setUpPath = `${path}/app`

export function addSecondFactorRoutes(scope: FastifyInstance, context: PagesContext): void {
  addPage(scope, context, { path }, (turn) => showState(context, turn))
  addForm(scope, context, { path, isSensitive: true }, (turn) => switchOn(context, turn))
  addForm(scope, context, { path: `${path}/codes`, returnTo: path, isSensitive: true }, (turn) =>
    renewCodes(context, turn),
  )
  // A person with passkeys alone adds an app.
  addPage(scope, context, { path: setUpPath }, async (turn) => {
    const { visit, reply } = turn
    if (!visit.session.isFresh) return toSignIn(reply, setUpPath)
    if (await context.store.secondFactors.hasApp(visit.user.id)) return reply.redirect(path, 303)
    return showSetUp(context, turn, { message: null, isRefused: false })
  })
  addPage(scope, context, { path: removal }, async (turn) => {
    const { visit, reply } = turn
    if (!visit.session.isFresh) return toSignIn(reply, removal)
    if (!(await context.store.secondFactors.hasApp(visit.user.id))) {
      return reply.redirect('/settings', 303)
    }
    return showRemoval(context, turn, { message: null, isRefused: false })
  })
  addForm(scope, context, { path: removal, isSensitive: true }, (turn) => switchOff(context, turn))
}

async function showState(context: PagesContext, turn: SignedInRequest): Promise<FastifyReply> {
  const { store, shownOnce } = context
  const { request, reply, visit } = turn
  const { user, session, formToken } = visit
  if (!session.isFresh) return toSignIn(reply, path)
  if (!(await store.secondFactors.has(user.id))) {
    return showSetUp(context, turn, { message: null, isRefused: false })
  }
  const shown = shownOnce.take(request, reply, session, path)
  const body = renderSecondFactor({
    formToken,
    codes: shown === null ? [] : shown.secret.split(' '),
    codesLeft: await store.secondFactors.countCodes(user.id),
    hasApp: await store.secondFactors.hasApp(user.id),
    hasPasskeys: (await store.passkeys.list(user.id)).length > 0,
    wasOn: readDone(context, reply, { already: true }) !== null,
  })
  return context.show(reply, visit, { title: 'Second factor', body })
}

/** Shows the secret of the set-up that has begun in this browser, or begins one. */
async function showSetUp(
  { signIns, cookies, show }: PagesContext,
  { request, reply, visit }: SignedInRequest,
  problem: { readonly message: string | null; readonly isRefused: boolean },
): Promise<FastifyReply> {
  const { secondFactors } = signIns
  const by = toBy(visit)
  const { email } = visit.user
  const held = secondFactors.readSetUp(by, cookies.sealed(request, 'set-up'), email)
  const begun = held === null ? secondFactors.beginSetUp(by) : null
  if (begun !== null) cookies.setSealed(reply, 'set-up', begun, setUpLifeSeconds)
  const setUp = held ?? secondFactors.readSetUp(by, begun, email)
  if (setUp === null) throw new Error('a set-up that began just now cannot be read')
  const body = renderSetUp({ formToken: visit.formToken, setUp, ...problem })
  return show(reply, visit, { title: 'Set up a second factor', body })
}

async function switchOn(context: PagesContext, turn: FormTurn): Promise<FastifyReply> {
  const { signIns, cookies, shownOnce } = context
  const { request, reply, visit, form } = turn
  const input = { setUp: form.get('setUp') ?? '', code: form.get('code') ?? '' }
  const text = cookies.sealed(request, 'set-up')
  const result = await signIns.secondFactors.switchOn(toBy(visit), text, input)
  switch (result.kind) {
    case 'on':
      cookies.clearSealed(reply, 'set-up')
      shownOnce.put(reply, visit.session, path, { id: 'codes', secret: result.codes.join(' ') })
      return reply.redirect(path, 303)
    case 'already_on':
      cookies.clearSealed(reply, 'set-up')
      return reply.redirect(`${path}?done=already`, 303)
    case 'refused':
      reply.code(400)
      return showSetUp(context, turn, { message: null, isRefused: true })
    case 'expired':
      reply.code(400)
      return showSetUp(context, turn, {
        message:
          'That page showed a key that is no longer used. Take the key below, and remove the other one from the app.',
        isRefused: false,
      })
    default:
      return unreachable(result)
  }
}

async function renewCodes(context: PagesContext, turn: FormTurn): Promise<FastifyReply> {
  const { reply, visit } = turn
  const codes = await context.signIns.secondFactors.renewCodes(toBy(visit))
  if (codes !== null) {
    const shown = { id: 'codes', secret: codes.join(' ') }
    context.shownOnce.put(reply, visit.session, path, shown)
  }
  return reply.redirect(path, 303)
}

async function showRemoval(
  context: PagesContext,
  { reply, visit }: SignedInRequest,
  problem: { readonly message: string | null; readonly isRefused: boolean },
): Promise<FastifyReply> {
  const hasPasskeys = (await context.store.passkeys.list(visit.user.id)).length > 0
  const body = renderRemoveFactor({ formToken: visit.formToken, hasPasskeys, ...problem })
  return context.show(reply, visit, { title: 'Switch off the second factor?', body })
}

async function switchOff(context: PagesContext, turn: FormTurn): Promise<FastifyReply> {
  const { signIns, cookies } = context
  const { request, reply, visit, form } = turn
  if (form.get('decision') !== 'confirm') return reply.redirect(path, 303)
  const source = { address: visit.address, browser: cookies.browser(request) }
  const input = { code: form.get('code') ?? '' }
  const result = await signIns.secondFactors.switchOff(toBy(visit), input, source)
  switch (result.kind) {
    case 'in': {
      const isOn = await context.store.secondFactors.has(visit.user.id)
      return reply.redirect(`/settings?done=${isOn ? 'app-removed' : 'switched-off'}`, 303)
    }
    case 'none':
      return reply.redirect('/settings', 303)
    case 'slow_down':
    case 'busy': {
      const message = askToRetry(reply, result)
      return showRemoval(context, turn, { message, isRefused: false })
    }
    case 'damaged':
      reply.code(503)
      return showRemoval(context, turn, { message: damagedText, isRefused: true })
    case 'refused': {
      reply.code(400)
      const message = 'That code is wrong or was used already. Wait for the next one.'
      return showRemoval(context, turn, { message, isRefused: true })
    }
    default:
      return unreachable(result)
  }
}
