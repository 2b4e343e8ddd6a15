/** The signed-in person deletes their account. A page that needs none says what ended at the providers. */
import type { FastifyInstance, FastifyReply } from 'fastify'
import { z } from 'zod'
import { formTokenOf } from '#auth/sign-in/sessions.ts'
import type { RemovalEffect } from '#connections/removal/removal-effect.ts'
import type { ConnectionId } from '#kernel/ids.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'
import { nameOf } from '../connections/facts.ts'
import { summarizeHeld } from '../connections/named.ts'
import type { PagesContext } from '../context.ts'
import { toSignIn } from '../forms.ts'
import { addForm, addPage, type FormTurn, toBy } from '../signed-in.ts'
import { type ConnectionEnd, renderDelete, renderDeleted } from './delete-page.ts'

const path = '/settings/delete'
const afterwards = '/deleted'

/** The list crosses the redirect in a cookie, of which browsers keep 4 KiB. */
const maxListed = 20
const maxNameLength = 60

const endsInOrder = [
  'open',
  'forgotten',
  'left',
  'ended',
] as const satisfies readonly ConnectionEnd[]

const Report = z.strictObject({
  ends: z.array(z.strictObject({ name: z.string(), end: z.enum(endsInOrder) })),
  more: z.int(),
})
type Report = z.infer<typeof Report>

export function addDeleteRoutes(scope: FastifyInstance, context: PagesContext): void {
  addPage(scope, context, { path }, async (turn) => {
    if (!turn.visit.session.isFresh) return toSignIn(turn.reply, path)
    return ask(context, turn)
  })
  addForm(scope, context, { path, isSensitive: true }, (turn) => deleteAccount(context, turn))
  addAfterwards(scope, context)
}

async function ask(
  context: PagesContext,
  { visit, reply }: Pick<FormTurn, 'visit' | 'reply'>,
  problem?: string,
): Promise<FastifyReply> {
  const { user, formToken } = visit
  const rows = await context.store.connections.list(user.id)
  const accountsOf = summarizeHeld(await context.store.accounts.list(user.id))
  const connections = rows.map((row) => ({ name: nameOf(row), accounts: accountsOf(row) }))
  const shown = { email: user.email, connections, formToken }
  const body = renderDelete(problem === undefined ? shown : { ...shown, problem })
  return context.show(reply, visit, { title: 'Delete this account?', body })
}

async function deleteAccount(context: PagesContext, turn: FormTurn): Promise<FastifyReply> {
  const { store, connections, cookies, shownOnce } = context
  const { visit, request, reply, form } = turn
  if (form.get('decision') !== 'confirm') return reply.redirect('/settings', 303)
  const { id, email } = visit.user
  if (form.get('email')?.trim().toLowerCase() !== email.toLowerCase()) {
    reply.code(400)
    return ask(context, turn, 'Type the address exactly as it is shown. Nothing was deleted.')
  }
  const rows = await store.connections.list(id)
  // Read before the deletion, which removes the logins.
  const effects = await findEffects(context, rows)
  const ended = new Set<ConnectionId>()
  const isDone = await connections.deleteUser(toBy(visit), id, undefined, (end) => {
    if (end.isEnded) ended.add(end.connectionId)
  })
  cookies.clearSession(reply)
  if (!isDone) return reply.redirect('/', 303)
  const endOf = ({ id: row }: ConnectionRow): ConnectionEnd => {
    const effect = effects.get(row)
    if (effect === 'forgets_key') return 'forgotten'
    if (!ended.has(row)) return 'open'
    return effect === 'leaves' ? 'left' : 'ended'
  }
  const ends = rows
    .map((row) => ({ name: row.institutionName.slice(0, maxNameLength), end: endOf(row) }))
    // What is left for the person to end is never among those that are not listed.
    .toSorted((one, other) => endsInOrder.indexOf(one.end) - endsInOrder.indexOf(other.end))
    .slice(0, maxListed)
  const report: Report = { ends, more: rows.length - ends.length }
  const binding = { id: formTokenOf(cookies.visitor(request, reply)) }
  shownOnce.put(reply, binding, afterwards, { id: 'deleted', secret: JSON.stringify(report) })
  return reply.redirect(afterwards, 303)
}

/** What becomes of the consent of each connection. */
async function findEffects(
  { connections }: PagesContext,
  rows: readonly ConnectionRow[],
): Promise<ReadonlyMap<ConnectionId, RemovalEffect>> {
  const find = async (row: ConnectionRow) =>
    [row.id, await connections.findRemovalEffect(row)] as const
  return new Map(await Promise.all(rows.map(find)))
}

function addAfterwards(scope: FastifyInstance, context: PagesContext): void {
  scope.get(afterwards, async (request, reply) => {
    const visit = await context.visits.begin(request, reply)
    const binding = { id: visit.formToken }
    const shown = context.shownOnce.take(request, reply, binding, afterwards)
    if (shown === null) return reply.redirect('/', 303)
    const body = renderDeleted(Report.parse(JSON.parse(shown.secret)))
    return context.show(reply, visit, { title: 'The account is deleted', body })
  })
}
