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
import { readFirstSteps } from './first-steps.ts'
import { renderWelcome } from './welcome-page.ts'

const path = '/welcome'

export function addWelcomeRoutes(scope: FastifyInstance, context: PagesContext): void {
  addPage(scope, context, { path }, (turn) => showWelcome(context, turn, null))
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

async function showWelcome(
  context: PagesContext,
  { visit, reply }: SignedInRequest,
  problem: string | null,
): Promise<FastifyReply> {
  const body = renderWelcome({
    email: visit.user.email,
    steps: await readFirstSteps(context, visit),
    isLinked: readDone(context, reply, { linked: true }) !== null,
    problem,
  })
  return context.show(reply, visit, { title: 'Your account is ready', body })
}
