/** A person's API keys: listed, created, shown once, revoked. */
import type { FastifyInstance, FastifyReply } from 'fastify'
import { toKeyStatus } from '#auth/keys.ts'
import { hasApiAccess } from '#auth/plans.ts'
import { type KeyId, parseUuid } from '#kernel/ids.ts'
import { addDays, getZone, parseDay, toIso } from '#kernel/time.ts'
import type { KeyRow } from '#store/ports/keys.ts'
import type { UserRow } from '#store/ports/users.ts'
import type { PagesContext } from '../context.ts'
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
import type { SignedIn } from '../visit.ts'
import { findExample, toExampleUrl } from './example.ts'
import { type KeyDraft, keysDone, renderKeys, renderRevokeKey } from './keys-page.ts'

const path = '/keys'
const emptyDraft: KeyDraft = { name: '', expires: '', problems: {}, message: null }

export function addKeyRoutes(scope: FastifyInstance, context: PagesContext): void {
  addPage(scope, context, { path }, (turn) => {
    const typed = readKept(context, turn)
    const draft = typed === null ? emptyDraft : { ...emptyDraft, ...readForm(typed) }
    return showKeys(context, turn, draft)
  })
  const kept = ['name', 'expires']
  addForm(scope, context, { path, isSensitive: true, isOnce: true, kept }, (turn) =>
    create(context, turn),
  )
  addRevocation(scope, context)
}

async function showKeys(
  context: PagesContext,
  turn: SignedInRequest,
  draft: KeyDraft,
): Promise<FastifyReply> {
  const { store, plans, clock, shownOnce } = context
  const { request, reply, visit } = turn
  const { user, session, formToken } = visit
  const keys = await store.keys.list(user.id)
  const shown = shownOnce.take(request, reply, session, path)
  const created = keys.find(({ id }) => id === shown?.id)
  const body = renderKeys({
    keys,
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
            url: toExampleUrl(context.origins().base, await findExample(context, user, 10)),
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
    const input = { name: typed.name, expires }
    const { row, key } = await context.actions.createKey(toBy(visit), user.id, input)
    context.shownOnce.put(reply, session, path, { id: row.id, secret: key })
    return reply.redirect(path, 303)
  } catch (error) {
    const { status, ...found } = toProblems(error, { name: 'The name', expires: 'The last day' })
    reply.code(status)
    return showKeys(context, turn, { ...emptyDraft, ...typed, ...found })
  }
}

function readForm(form: URLSearchParams) {
  return { name: (form.get('name') ?? '').trim(), expires: form.get('expires') ?? '' }
}

/** The end of a day in the person's zone as an instant; null: never; undefined: this is no day. */
function toExpiry(day: string, user: UserRow): string | null | undefined {
  if (day === '') return null
  if (parseDay(day) === null) return undefined
  return toIso(Math.ceil(getZone(zoneOf(user)).startOfDay(addDays(day, 1)) / 1000))
}

function addRevocation(scope: FastifyInstance, context: PagesContext): void {
  const place = { path: '/keys/:key/revoke', returnTo: path }

  /**
   * An active key of this person; another's, or one that has ended, is treated as one that does not exist.
   */
  async function findActive(visit: SignedIn, text: string): Promise<KeyRow | null> {
    const id = parseUuid<KeyId>(text)
    const keys = id === null ? [] : await context.store.keys.list(visit.user.id)
    const now = context.clock.now()
    return keys.find((key) => key.id === id && toKeyStatus(key, now) === 'active') ?? null
  }

  addPage(scope, context, place, async ({ visit, reply, part }) => {
    const key = await findActive(visit, part('key'))
    if (key === null) return reply.redirect(`${path}?done=gone`, 303)
    const body = renderRevokeKey(key, visit.formToken)
    return context.show(reply, visit, { title: 'Revoke this key?', body })
  })

  addForm(scope, context, place, async ({ visit, reply, form, part }) => {
    const key = await findActive(visit, part('key'))
    if (key === null) return reply.redirect(`${path}?done=gone`, 303)
    if (form.get('decision') !== 'confirm') return reply.redirect(path, 303)
    await context.actions.revokeKey(toBy(visit), key.id)
    return reply.redirect(`${path}?done=revoked`, 303)
  })
}
