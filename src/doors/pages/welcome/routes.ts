/** The page after a sign-up, and linking made-up data in sandbox mode. */
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { PagesContext } from '../context.ts'
import {
  addForm,
  addPage,
  isFormRefusal,
  readDone,
  type SignedInRequest,
  toBy,
} from '../signed-in.ts'
import { readFirstAnswer } from './first-answer.ts'
import { readFirstSteps } from './first-steps.ts'
import { renderWelcome, welcomeDone } from './welcome-page.ts'

const path = '/welcome'

export function addWelcomeRoutes(scope: FastifyInstance, context: PagesContext): void {
  addPage(scope, context, { path }, (turn) => showWelcome(context, turn, null))
  addFirstKey(scope, context)
  const { addMadeUpData } = context
  if (addMadeUpData === null) return
  const place = { path: '/welcome/made-up-data', returnTo: path }
  addForm(scope, context, place, async (turn) => {
    try {
      await addMadeUpData(toBy(turn.visit), turn.visit.user.id)
      return turn.reply.redirect(`${path}?done=linked`, 303)
    } catch (error) {
      // A made-up person may have been changed by a sandbox command; the page says why nothing was linked.
      if (!isFormRefusal(error)) throw error
      turn.reply.code(error.status)
      return showWelcome(context, turn, error.message)
    }
  })
}

const firstKeyName = 'First key'

/** A key without a form, and its first answer on the page that follows. */
function addFirstKey(scope: FastifyInstance, context: PagesContext): void {
  const place = { path: '/welcome/first-key', returnTo: path, isSensitive: true, isOnce: true }
  addForm(scope, context, place, async (turn) => {
    const { visit, reply } = turn
    try {
      const input = { name: firstKeyName }
      const { row, key } = await context.actions.createKey(toBy(visit), visit.user.id, input)
      context.shownOnce.put(reply, visit.session, path, { id: row.id, secret: key })
      return reply.redirect(path, 303)
    } catch (error) {
      if (!isFormRefusal(error)) throw error
      reply.code(error.status)
      return showWelcome(context, turn, error.message)
    }
  })
}

async function showWelcome(
  context: PagesContext,
  turn: SignedInRequest,
  problem: string | null,
): Promise<FastifyReply> {
  const { visit, request, reply } = turn
  const shown = context.shownOnce.take(request, reply, visit.session, path)
  const body = renderWelcome({
    email: visit.user.email,
    steps: await readFirstSteps(context, visit),
    done: readDone(context, reply, welcomeDone),
    problem,
    first:
      shown === null ? null : { key: shown.secret, answer: await readFirstAnswer(context, turn) },
  })
  return context.show(reply, visit, { title: 'Your account is ready', body })
}
