/** A person's API keys: listed, created, shown once, given a new secret, revoked. */
import type { FastifyInstance, FastifyReply } from 'fastify'
import { toKeyStatus } from '#auth/keys.ts'
import { hasApiAccess } from '#auth/plans.ts'
import { type KeyId, parseUuid } from '#kernel/ids.ts'
import { addDays, getZone, parseDay, toIso } from '#kernel/time.ts'
import { sortAccounts } from '#resources/sort-accounts.ts'
import type { KeyRow } from '#store/ports/keys.ts'
import type { UserRow } from '#store/ports/users.ts'
import type { PagesContext } from '../context.ts'
import {
  addForm,
  addPage,
  addQuestion,
  type FormTurn,
  readDone,
  readKept,
  type SignedInRequest,
  toBy,
  toProblems,
  zoneOf,
} from '../signed-in.ts'
import { findExample, toExampleUrl } from './example.ts'
import {
  type KeyDraft,
  keysDone,
  renderKeys,
  renderRevokeKey,
  renderRotateKey,
} from './keys-page.ts'
import { limitNames, readLimits, toLimitsInput } from './limits.ts'

const path = '/keys'
const emptyDraft: KeyDraft = {
  ...{ name: '', expires: '', problems: {}, message: null },
  ...readLimits(new URLSearchParams()),
}

export function addKeyRoutes(scope: FastifyInstance, context: PagesContext): void {
  addPage(scope, context, { path }, (turn) => {
    const typed = readKept(context, turn)
    const draft = typed === null ? emptyDraft : { ...emptyDraft, ...readForm(typed) }
    return showKeys(context, turn, draft)
  })
  const kept = ['name', 'expires', ...limitNames]
  addForm(scope, context, { path, isSensitive: true, isOnce: true, kept }, (turn) =>
    create(context, turn),
  )
  addQuestions(scope, context)
}

async function showKeys(
  context: PagesContext,
  turn: SignedInRequest,
  draft: KeyDraft,
): Promise<FastifyReply> {
  const { store, plans, clock, shownOnce } = context
  const { request, reply, visit } = turn
  const { user, session, formToken } = visit
  const [keys, connections, accounts] = await Promise.all([
    store.keys.list(user.id),
    store.connections.list(user.id),
    store.accounts.list(user.id),
  ])
  const shown = shownOnce.take(request, reply, session, path)
  const created = keys.find(({ id }) => id === shown?.id)
  const body = renderKeys({
    keys,
    connections,
    accounts: sortAccounts(accounts),
    now: clock.now(),
    zone: zoneOf(user),
    formToken,
    draft,
    mayCreate: session.isFresh,
    mayRead: hasApiAccess(user, plans, clock.now()),
    created:
      shown === null || created === undefined
        ? null
        : {
            name: created.name,
            key: shown.secret,
            url: toExampleUrl(
              context.origins().base,
              await findExample(context, user, { limit: 10, key: created }),
            ),
          },
    done: readDone(context, reply, keysDone),
  })
  return context.show(reply, visit, { title: 'API keys', body })
}

async function create(context: PagesContext, turn: FormTurn): Promise<FastifyReply> {
  const { form, reply, visit } = turn
  const { user, session } = visit
  const typed = readForm(form)
  if (typed.name === '') {
    reply.code(400)
    const problems = { name: 'Enter a name, so that you recognise the key later' }
    return showKeys(context, turn, { ...emptyDraft, ...typed, problems })
  }
  const expires = toExpiry(typed.expires.trim(), user)
  if (expires === undefined) {
    reply.code(400)
    const problems = { expires: 'Give a day such as 2027-01-31, or leave it empty' }
    return showKeys(context, turn, { ...emptyDraft, ...typed, problems })
  }
  try {
    const input = { name: typed.name, expires, ...toLimitsInput(typed) }
    const { row, key } = await context.actions.createKey(toBy(visit), user.id, input)
    context.shownOnce.put(reply, session, path, { id: row.id, secret: key })
    return reply.redirect(path, 303)
  } catch (error) {
    const { status, ...found } = toProblems(error, labels)
    reply.code(status)
    return showKeys(context, turn, { ...emptyDraft, ...typed, ...found })
  }
}

const labels = {
  name: 'The name',
  expires: 'The last day',
  scopes: 'The choice',
  connectionIds: 'The choice',
  accountIds: 'The choice',
  addresses: 'Each address',
}

function readForm(form: URLSearchParams) {
  const [name, expires] = [(form.get('name') ?? '').trim(), form.get('expires') ?? '']
  return { name, expires, ...readLimits(form) }
}

/** The end of a day in the person's zone as an instant; null: never; undefined: this is no day. */
function toExpiry(day: string, user: UserRow): string | null | undefined {
  if (day === '') return null
  if (parseDay(day) === null) return undefined
  return toIso(Math.ceil(getZone(zoneOf(user)).startOfDay(addDays(day, 1)) / 1000))
}

/** An active key of this person; another's, or one that has ended, is treated as one that does not exist. */
async function findActive(
  { store, clock }: PagesContext,
  { visit, part }: SignedInRequest,
): Promise<KeyRow | null> {
  const id = parseUuid<KeyId>(part('key'))
  const keys = id === null ? [] : await store.keys.list(visit.user.id)
  const now = clock.now()
  return keys.find((key) => key.id === id && toKeyStatus(key, now) === 'active') ?? null
}

function addQuestions(scope: FastifyInstance, context: PagesContext): void {
  const find = (turn: SignedInRequest) => findActive(context, turn)
  const revocation = { path: '/keys/:key/revoke', returnTo: path }
  addQuestion(scope, context, revocation, {
    find,
    title: 'Revoke this key?',
    render: renderRevokeKey,
    async act({ visit }, key) {
      await context.actions.revokeKey(toBy(visit), key.id)
      return `${path}?done=revoked`
    },
  })
  const rotation = { path: '/keys/:key/rotate', returnTo: path, isSensitive: true, isOnce: true }
  addQuestion(scope, context, rotation, {
    find,
    title: 'Create a new secret for this key?',
    render: renderRotateKey,
    async act({ visit, reply, form }, key) {
      const input = { overlapHours: Number(form.get('overlapHours') ?? 24) }
      const { row, key: secret } = await context.actions.rotateKey(toBy(visit), key.id, input)
      context.shownOnce.put(reply, visit.session, path, { id: row.id, secret })
      return path
    },
  })
}
