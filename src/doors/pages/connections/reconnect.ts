/**
 * Renews a connection: on the provider's page, or by a new personal key. The connection and its accounts keep
 * their ids (src/connections/discovery/reconcile.ts).
 */
import type { FastifyInstance, FastifyReply } from 'fastify'
import { ApiError } from '#contract/errors.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'
import type { PagesContext } from '../context.ts'
import { describeWait } from '../describe-wait.ts'
import { rememberBegun } from '../linking/begun-here.ts'
import { toReturnOrigin, waitingPath } from '../linking/places.ts'
import {
  addForm,
  addPage,
  type FormTurn,
  type SignedInRequest,
  toBy,
  toProblems,
} from '../signed-in.ts'
import { pathOf } from './facts.ts'
import { keyFieldsOf, renderNewKey } from './question-page.ts'

const path = '/connections'

interface Options {
  /** Null: the person has no such connection. */
  readonly find: (turn: SignedInRequest) => Promise<ConnectionRow | null>
  /** The page of the connection with the reason of a refusal. */
  readonly refuse: (
    turn: SignedInRequest,
    refused: { readonly row: ConnectionRow; readonly message: string; readonly status: number },
  ) => Promise<FastifyReply>
}

export function addReconnect(
  scope: FastifyInstance,
  context: PagesContext,
  { find, refuse }: Options,
): void {
  const { connections } = context
  const place = { path: '/connections/:connection/reconnect', returnTo: path }
  addPage(scope, context, place, async (turn) => {
    const row = await find(turn)
    if (row === null) return turn.reply.redirect(`${path}?done=gone`, 303)
    if ((await connections.renewals.find(row)) !== 'key')
      return turn.reply.redirect(pathOf(row), 303)
    return showNewKey(context, turn, { row, problems: {}, message: null })
  })
  addForm(scope, context, place, async (turn) => {
    const row = await find(turn)
    if (row === null) return turn.reply.redirect(`${path}?done=gone`, 303)
    switch (await connections.renewals.find(row)) {
      case 'browser':
        return leave(context, turn, { row, refuse })
      case 'key':
        return takeKey(context, turn, row)
      default: {
        const message = 'Only the operator of this server can link it again.'
        return refuse(turn, { row, message, status: 409 })
      }
    }
  })
}

interface Refused {
  readonly row: ConnectionRow
  readonly problems: Readonly<Partial<Record<string, string>>>
  readonly message: string | null
}

function showNewKey(
  context: PagesContext,
  { reply, visit }: SignedInRequest,
  refused: Refused,
): FastifyReply {
  const body = renderNewKey({ ...refused, formToken: visit.formToken })
  return context.show(reply, visit, { title: 'Reconnect', body })
}

/** To the page of the provider, where the person gives the consent again. */
async function leave(
  context: PagesContext,
  turn: SignedInRequest,
  { row, refuse }: Pick<Options, 'refuse'> & { readonly row: ConnectionRow },
): Promise<FastifyReply> {
  const { id, userId, provider } = row
  const baseUrl = toReturnOrigin(context, turn.request)
  const start = { userId, provider, institutionId: null, connectionId: id, baseUrl }
  try {
    const { address } = await context.connections.startLinking(toBy(turn.visit), start)
    rememberBegun(context, turn, turn.visit.session)
    return turn.reply.redirect(address, 303)
  } catch (error) {
    if (!(error instanceof ApiError) || error.entry === 'internal' || error.status === 404)
      throw error
    return refuse(turn, { row, status: error.status, message: explainStart(error) })
  }
}

function explainStart(error: ApiError): string {
  return error.status === 503 ? explainSilence(error) : error.message
}

const explainSilence = (error: ApiError): string =>
  `The provider could not be asked now. Try again ${describeWait(error)}.`

/** Links with the new key; what it does not reach is linked as new, or stays as it is. */
async function takeKey(
  context: PagesContext,
  turn: FormTurn,
  row: ConnectionRow,
): Promise<FastifyReply> {
  const { reply, form, visit } = turn
  const fields = keyFieldsOf(row.provider)
  // The button of the overview does not know that a key is needed.
  const isAsked = fields.length === 0 || fields.some(({ name }) => form.has(name))
  if (!isAsked) return reply.redirect(`${pathOf(row)}/reconnect`, 303)
  const given = fields.flatMap(({ name, key }) => {
    const value = (form.get(name) ?? '').trim()
    return value === '' ? [] : [[key, value] as const]
  })
  const credentials = { provider: row.provider, ...Object.fromEntries(given) }
  try {
    const end = await context.connections.connectByKey(toBy(visit), credentials, row.id)
    if (end.kind === 'waiting') return reply.redirect(waitingPath(end.attempt), 303)
    if (end.kind === 'needs_consent') return reply.redirect(`${pathOf(row)}/reconnect`, 303)
    const isSame = end.connections.some(({ id }) => id === row.id)
    return reply.redirect(isSame ? `${pathOf(row)}?done=reconnected` : `${path}?done=linked`, 303)
  } catch (error) {
    return showRefusal(context, turn, { row, error })
  }
}

/** The fields of the action have other names than those of the page. */
function showRefusal(
  context: PagesContext,
  turn: SignedInRequest,
  { row, error }: { readonly row: ConnectionRow; readonly error: unknown },
): FastifyReply {
  if (error instanceof ApiError && error.status === 503) {
    turn.reply.code(503)
    return showNewKey(context, turn, { row, problems: {}, message: explainSilence(error) })
  }
  const fields = keyFieldsOf(row.provider)
  const labels = Object.fromEntries(
    fields.map(({ key, label }) => [key, `The ${label.toLowerCase()}`]),
  )
  const { status, problems, message } = toProblems(error, labels)
  turn.reply.code(status)
  const named = fields.map(({ name, key }) => [name, problems[key]] as const)
  return showNewKey(context, turn, { row, problems: Object.fromEntries(named), message })
}
