/** The settings of the signed-in person: name, time zone, password and sessions. */
import type { FastifyInstance, FastifyReply } from 'fastify'
import { passwordProblem } from '#auth/sign-in/given-fields.ts'
import { parseUuid, type SessionId } from '#kernel/ids.ts'
import { unreachable } from '#kernel/unreachable.ts'
import type { PagesContext } from '../context.ts'
import { agentOf, askToRetry, carryOn } from '../sign-in/entering.ts'
import {
  addForm,
  addPage,
  type FormTurn,
  readDone,
  readKept,
  type SignedInRequest,
  toBy,
  toProblems,
  zoneOf,
} from '../signed-in.ts'
import { addDeleteRoutes } from './delete-routes.ts'
import { writeOwnData } from './own-data.ts'
import { addPasskeyRoutes } from './passkey-routes.ts'
import { addSecondFactorRoutes } from './second-factor-routes.ts'
import { renderSettings, type SettingsDraft, settingsDone } from './settings-page.ts'

const path = '/settings'

export function addSettingsRoutes(scope: FastifyInstance, context: PagesContext): void {
  addSecondFactorRoutes(scope, context)
  addPasskeyRoutes(scope, context)
  addDeleteRoutes(scope, context)
  addPage(scope, context, { path }, (turn) => showSettings(context, turn))
  addPage(scope, context, { path: `${path}/download` }, async ({ visit, reply }) =>
    reply
      .header('content-disposition', 'attachment; filename="tributary_data.json"')
      .type('application/json')
      .send(await writeOwnData(context, visit.user)),
  )
  // Both forms post to one address, which a reload shows as a page.
  addForm(scope, context, { path, kept: ['name', 'timezone'] }, (turn) =>
    turn.form.has('newPassword') ? changePassword(context, turn) : saveProfile(context, turn),
  )
  const place = { path: `${path}/sessions/end`, returnTo: path }
  addForm(scope, context, place, async ({ visit, reply, form }) => {
    const id = parseUuid<SessionId>(form.get('session') ?? '')
    // A session that has ended, or somebody else's, is treated as one that does not exist.
    const isEnded = id !== null && (await context.sessions.endOne(toBy(visit), visit.user.id, id))
    return reply.redirect(isEnded ? `${path}?done=ended` : path, 303)
  })
  const others = { path: `${path}/sessions/end-others`, returnTo: path }
  addForm(scope, context, others, async ({ visit, reply }) => {
    const count = await context.sessions.endOthers(toBy(visit))
    return reply.redirect(count > 0 ? `${path}?done=ended` : path, 303)
  })
}

async function showSettings(
  context: PagesContext,
  turn: SignedInRequest,
  problems: Partial<SettingsDraft> = {},
): Promise<FastifyReply> {
  const { store, sessions, signIns, clock } = context
  const { reply, visit } = turn
  const typed = readKept(context, turn)
  const { user, session, formToken } = visit
  const zone = zoneOf(user)
  const hasSecondFactor = await store.secondFactors.has(user.id)
  const body = renderSettings({
    user,
    zone,
    formToken,
    own: session.id,
    draft: {
      name: typed?.get('name') ?? user.name ?? '',
      timezone: typed?.get('timezone') ?? zone,
      profile: {},
      passwords: {},
      message: null,
      ...problems,
    },
    hasSecondFactor,
    hasApp: hasSecondFactor && (await store.secondFactors.hasApp(user.id)),
    passkeys: await store.passkeys.list(user.id),
    passkeyHome: signIns.passkeys.home(),
    now: clock.now(),
    codesLeft: hasSecondFactor ? await store.secondFactors.countCodes(user.id) : 0,
    sessions: await sessions.list(user.id),
    done: readDone(context, reply, settingsDone),
  })
  return context.show(reply, visit, { title: 'Settings', body })
}

/** Fields that the form does not have stay as they are. */
async function saveProfile(context: PagesContext, turn: FormTurn): Promise<FastifyReply> {
  const { visit, reply, form } = turn
  const name = form.get('name')
  const timezone = form.get('timezone')?.trim() ?? null
  const input = {
    ...(name === null ? {} : { name }),
    ...(timezone === null ? {} : { timezone }),
    // A box that is not ticked sends nothing.
    ...(form.get('choice') === 'balances'
      ? { showsBalances: form.get('showBalances') === 'true' }
      : {}),
  }
  try {
    await context.actions.setProfile(toBy(visit), visit.user.id, input)
    return reply.redirect(`${path}?done=saved`, 303)
  } catch (error) {
    const labels = { name: 'The name', timezone: 'The time zone' }
    const { status, problems } = toProblems(error, labels)
    reply.code(status)
    return showSettings(context, turn, { ...input, profile: problems })
  }
}

async function changePassword(context: PagesContext, turn: FormTurn): Promise<FastifyReply> {
  const { signIns, cookies } = context
  const { visit, request, reply, form } = turn
  const input = { password: form.get('password') ?? '', newPassword: form.get('newPassword') ?? '' }
  const source = {
    address: visit.address,
    browser: cookies.browser(request),
    agent: agentOf(request),
  }
  const result = await signIns.changePassword(toBy(visit), input, source)
  switch (result.kind) {
    case 'in':
      cookies.setSession(reply, result.token)
      cookies.setBrowser(reply, result.browser)
      carryOn(context, turn, {
        userId: visit.user.id,
        from: visit.session.id,
        to: result.sessionId,
      })
      return reply.redirect(`${path}?done=password`, 303)
    case 'ended':
      return context.interrupted.interrupt(reply, { path, form, kept: [] })
    case 'refused':
      reply.code(400)
      return showSettings(context, turn, { passwords: { password: 'This is not your password' } })
    case 'unacceptable':
      reply.code(400)
      return showSettings(context, turn, { passwords: { newPassword: passwordProblem } })
    case 'slow_down':
    case 'busy':
      return showSettings(context, turn, { message: askToRetry(reply, result) })
    default:
      return unreachable(result)
  }
}
