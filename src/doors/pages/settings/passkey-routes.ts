/** A person's passkeys: added and removed, within ten minutes of the password or of another passkey. */
import type { FastifyInstance, FastifyReply } from 'fastify'
import { type PasskeyId, parseUuid } from '#kernel/ids.ts'
import { unreachable } from '#kernel/unreachable.ts'
import type { PasskeyRow } from '#store/ports/passkeys.ts'
import type { PagesContext } from '../context.ts'
import { toSignIn } from '../forms.ts'
import { readPasskeyForm, staleText } from '../passkey-form.ts'
import { agentOf } from '../sign-in/entering.ts'
import {
  addForm,
  addPage,
  type FormTurn,
  readKept,
  type SignedInRequest,
  toBy,
  toProblems,
} from '../signed-in.ts'
import { describeAgent } from './agent-words.ts'
import {
  passkeysPath as path,
  renderElsewhere,
  renderNewPasskey,
  renderRemovePasskey,
} from './passkeys-page.ts'

const settings = '/settings'
const codesPath = '/settings/second-factor'
const usedText =
  'This was sent before. Look in the settings whether the passkey is there; if not, press the button once more.'

export function addPasskeyRoutes(scope: FastifyInstance, context: PagesContext): void {
  addPage(scope, context, { path }, async (turn) => {
    const { visit, reply, request } = turn
    if (!visit.session.isFresh) return toSignIn(reply, path)
    const name = readKept(context, turn)?.get('name') ?? describeAgent(agentOf(request))
    return showNew(context, turn, { name, problem: undefined, message: null })
  })
  addForm(scope, context, { path, isSensitive: true, kept: ['name'] }, (turn) => add(context, turn))
  addRemoval(scope, context)
}

async function showNew(
  context: PagesContext,
  turn: SignedInRequest,
  shown: {
    readonly name: string
    readonly problem: string | undefined
    readonly message: string | null
  },
): Promise<FastifyReply> {
  const { store, signIns, show } = context
  const { request, reply, visit } = turn
  const { user, formToken } = visit
  const title = 'Add a passkey'
  const passkeys = await store.passkeys.list(user.id)
  const { passkeys: actions } = signIns
  const asked = actions.askToAdd(request.headers.host, toBy(visit), { user, passkeys })
  if (asked === null) return show(reply, visit, { title, body: renderElsewhere(actions.home()) })
  const hasSecondFactor = await store.secondFactors.has(user.id)
  const body = renderNewPasskey({ formToken, request: asked, hasSecondFactor, ...shown })
  return show(reply, visit, { title, body })
}

async function add(context: PagesContext, turn: FormTurn): Promise<FastifyReply> {
  const { reply, visit, form } = turn
  const name = form.get('name') ?? ''
  const refuse = (status: number, message: string | null, problem?: string) => {
    reply.code(status)
    return showNew(context, turn, { name, message, problem })
  }
  const input = { name, ...readPasskeyForm(form) }
  if (input.credential === '') {
    return refuse(400, 'This browser gave no passkey. It needs JavaScript and a place to keep one.')
  }
  try {
    const result = await context.signIns.passkeys.add(toBy(visit), input)
    switch (result.kind) {
      case 'added':
        return showNewCodes(context, turn, result.codes)
      case 'refused':
        return refuse(400, 'That passkey was not accepted. Try again.')
      case 'stale':
        return refuse(400, staleText)
      case 'used':
        return refuse(400, usedText)
      case 'taken':
        return refuse(400, 'That passkey is stored already.')
      case 'full':
        return refuse(400, 'You have as many passkeys as there can be. Remove one first.')
      default:
        return unreachable(result)
    }
  } catch (error) {
    const { status, problems } = toProblems(error, { name: 'The name' })
    return refuse(status, null, problems.name)
  }
}

/** The recovery codes are shown once, where they can be made again. */
function showNewCodes(
  { shownOnce }: PagesContext,
  { reply, visit }: FormTurn,
  codes: readonly string[],
): FastifyReply {
  if (codes.length === 0) return reply.redirect(`${settings}?done=passkey`, 303)
  shownOnce.put(reply, visit.session, codesPath, { id: 'codes', secret: codes.join(' ') })
  return reply.redirect(codesPath, 303)
}

function addRemoval(scope: FastifyInstance, context: PagesContext): void {
  const { store, signIns } = context
  const place = { path: `${path}/:passkey/remove`, returnTo: settings }

  /** One of this person; another's is treated as one that does not exist. */
  async function find({ visit, part }: SignedInRequest) {
    const id = parseUuid<PasskeyId>(part('passkey'))
    const all = await store.passkeys.list(visit.user.id)
    const passkey: PasskeyRow | undefined = all.find((one) => one.id === id)
    return passkey === undefined ? null : { passkey, others: all.length - 1 }
  }

  addPage(scope, context, place, async (turn) => {
    const { visit, reply, request } = turn
    if (!visit.session.isFresh) return toSignIn(reply, request.url)
    const found = await find(turn)
    if (found === null) return reply.redirect(settings, 303)
    const hasApp = await store.secondFactors.hasApp(visit.user.id)
    const body = renderRemovePasskey({
      passkey: found.passkey,
      formToken: visit.formToken,
      left: { passkeys: found.others, hasApp },
    })
    return context.show(reply, visit, { title: 'Remove this passkey?', body })
  })

  addForm(scope, context, { ...place, isSensitive: true }, async (turn) => {
    const { visit, reply, form } = turn
    const found = await find(turn)
    if (found === null || form.get('decision') !== 'confirm') return reply.redirect(settings, 303)
    const isRemoved = await signIns.passkeys.remove(toBy(visit), found.passkey.id)
    return reply.redirect(isRemoved ? `${settings}?done=passkey-removed` : settings, 303)
  })
}
