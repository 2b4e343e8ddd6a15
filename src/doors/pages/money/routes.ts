/**
 * The pages of money: read live through the gate when a person asks, and not kept. Another's account is one
 * that does not exist.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ApiError } from '#contract/errors.ts'
import { type ExportFormat, exportFormats } from '#exports/exporter.ts'
import { type AccountId, parseUuid, type UserId } from '#kernel/ids.ts'
import { factsOf } from '#providers/all-facts.ts'
import { sortAccounts } from '#resources/sort-accounts.ts'
import type { AccountRow } from '#store/ports/accounts.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'
import { nameOf } from '../connections/facts.ts'
import type { PagesContext } from '../context.ts'
import { queryOf } from '../forms.ts'
import { renderNotice } from '../notices.ts'
import { addPage, type SignedInRequest, zoneOf } from '../signed-in.ts'
import { renderMoneyView } from './account-page.ts'
import { contentTypes, makeFile } from './download.ts'
import { renderMoney } from './list-page.ts'
import type { OwnReads } from './own-reads.ts'
import { readBalances } from './read-balances.ts'
import { readMoney, rowsAtOnce } from './read-money.ts'
import { type RowFilter, readRowFilter, toMonthDays } from './row-filter.ts'
import { describeFailure } from './words.ts'

const path = '/money'
const byName = new Intl.Collator('und')

export function addMoneyRoutes(scope: FastifyInstance, context: PagesContext): void {
  addPage(scope, context, { path }, (turn) => showAll(context, turn))
  addPage(scope, context, { path: `${path}/:account` }, (turn) => showOne(context, turn))
  const place = { path: `${path}/:account/download` }
  addPage(scope, context, place, (turn) => download(context, turn))
}

/** A prefetch is not a user request. */
const isAhead = ({ headers }: FastifyRequest): boolean =>
  `${headers['sec-purpose'] ?? ''}`.startsWith('prefetch')

const isPressed = (request: FastifyRequest, { isShown }: RowFilter): boolean =>
  isShown && !isAhead(request)

function open({ openOwnReads }: PagesContext, turn: SignedInRequest): Promise<OwnReads> {
  const { visit, request, reply } = turn
  return openOwnReads({ userId: visit.user.id, request: request.raw, response: reply.raw })
}

async function showAll(context: PagesContext, turn: SignedInRequest): Promise<FastifyReply> {
  const { visit, request, reply } = turn
  const filter = readRowFilter(queryOf(request))
  const { id: userId } = visit.user
  const accounts = sortAccounts(await context.store.accounts.list(userId))
  // When the button was pressed, or always if the person chose so in the settings.
  const isWanted = filter.isShown || visit.user.showsBalances
  const reading = isPressed(request, { ...filter, isShown: isWanted })
    ? await readBalances(await open(context, turn), accounts, (id) =>
        context.store.accounts.listByConnection(userId, id),
      )
    : null
  // After the reads: they may have found out that a consent is gone.
  const rows = await listConnections(context, visit.user.id)
  const accountsOf = Map.groupBy(accounts, ({ connectionId }) => connectionId)
  const body = await renderMoney({
    institutions: rows.map((row) => ({ row, accounts: accountsOf.get(row.id) ?? [] })),
    reading,
    isHidden: filter.isHidden,
    base: context.origins().base,
  })
  return context.show(reply, visit, { title: 'Money', body })
}

async function listConnections(
  { store }: PagesContext,
  userId: UserId,
): Promise<readonly ConnectionRow[]> {
  const rows = (await store.connections.list(userId)).filter(({ status }) => status !== 'deleting')
  // Each name is made once, not at every comparison.
  const named = rows.map((row) => [nameOf(row), row] as const)
  return named.toSorted(([one], [other]) => byName.compare(one, other)).map(([, row]) => row)
}

async function showOne(context: PagesContext, turn: SignedInRequest): Promise<FastifyReply> {
  const { visit, request, reply } = turn
  const account = await findAccount(context, turn)
  if (account === null) return showNone(context, turn)
  const filter = readRowFilter(queryOf(request))
  const now = context.clock.now()
  const today = Temporal.Instant.fromEpochMilliseconds(now)
    .toZonedDateTimeISO(zoneOf(visit.user))
    .toPlainDate()
  const days = toMonthDays(filter, today)
  const { category } = factsOf(account.provider)
  const wanted = { ...days, offset: filter.offset, limit: rowsAtOnce, category, now }
  const reading = isPressed(request, filter)
    ? await readMoney(await open(context, turn), account, wanted)
    : null
  const row = await context.store.connections.get(visit.user.id, account.connectionId)
  if (row === null) return showNone(context, turn)
  const { base } = context.origins()
  const body = renderMoneyView({ account, row, category, filter, days, today, reading, base })
  return context.show(reply, visit, { title: 'Account', body })
}

async function findAccount(
  { store }: PagesContext,
  { visit, part }: SignedInRequest,
): Promise<AccountRow | null> {
  const id = parseUuid<AccountId>(part('account'))
  const accounts = id === null ? [] : await store.accounts.list(visit.user.id)
  return accounts.find((account) => account.id === id) ?? null
}

function showNone(context: PagesContext, { reply, visit }: SignedInRequest): FastifyReply {
  const sentence = 'It was removed, or the address is wrong.'
  const body = renderNotice('There is no such account', sentence)
  return context.show(reply.code(404), visit, { title: 'No such account', body })
}

async function download(context: PagesContext, turn: SignedInRequest): Promise<FastifyReply> {
  const { request, reply } = turn
  const account = await findAccount(context, turn)
  const { format, from, to } = readFileQuery(request)
  if (account === null || format === null) return showNone(context, turn)
  const filter = readRowFilter(queryOf(request))
  const { category } = factsOf(account.provider)
  const now = context.clock.now()
  try {
    const reads = await open(context, turn)
    const file = await makeFile(reads, account, { format, from, to, filter, category, now })
    if (file === null) return showNone(context, turn)
    const days = [from, to].flatMap((text) => text?.slice(0, 10) ?? [])
    const name = ['tributary', account.id.slice(0, 8), ...days]
    return reply
      .header('content-disposition', `attachment; filename="${name.join('_')}.${format}"`)
      .type(contentTypes[format])
      .send(file)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const sentence = `${describeFailure(error, account.provider)} Nothing was downloaded, since a part would look like the whole.`
    const body = renderNotice('The file could not be made', sentence)
    return context.show(reply.code(error.status), turn.visit, { title: 'No file', body })
  }
}

/** `from` and `to` are judged by the operation that reads them. */
function readFileQuery(request: FastifyRequest) {
  const given = queryOf(request)
  // An empty field of a form means no bound.
  const toBound = (value: unknown) => (value === undefined || value === '' ? null : String(value))
  const format = exportFormats.find((one): one is ExportFormat => one === given.format) ?? null
  return { format, from: toBound(given.from), to: toBound(given.to) }
}
