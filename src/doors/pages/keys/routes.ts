/** A person's API keys: listed, created, shown once, revoked. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { defaultTimezone } from '#auth/caller.ts'
import { toKeyStatus } from '#auth/keys.ts'
import { hasApiAccess } from '#auth/plans.ts'
import type { By } from '#contract/actor.ts'
import { ApiError } from '#contract/errors.ts'
import { type KeyId, parseUuid } from '#kernel/ids.ts'
import { addDays, getZone, microsPerMs, parseDay, toIso } from '#kernel/time.ts'
import type { KeyRow } from '#store/ports/keys.ts'
import type { UserRow } from '#store/ports/users.ts'
import type { PagesContext } from '../context.ts'
import { formOf, toSignIn } from '../forms.ts'
import { isSignedIn, type SignedIn } from '../visit.ts'
import { type KeyDraft, renderKeys, renderRevoke } from './pages.ts'

interface WithDone {
  Querystring: { readonly done?: string | string[] }
}

interface WithKey {
  Params: { readonly key: string }
}

const path = '/keys'
const emptyDraft: KeyDraft = { name: '', expires: '', problems: {}, message: null }

export function addKeyRoutes(scope: FastifyInstance, context: PagesContext): void {
  addList(scope, context)
  addCreation(scope, context)
  addRevocation(scope, context)
}

interface Shown {
  readonly draft: KeyDraft
  readonly isRevoked: boolean
}

async function showKeys(
  context: PagesContext,
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  visit: SignedIn,
  { draft, isRevoked }: Shown,
): Promise<FastifyReply> {
  const { store, plans, clock, shownOnce } = context
  const { user, session, formToken } = visit
  const keys = await store.keys.list(user.id)
  const shown = shownOnce.take(request, reply, session, path)
  const created = shown === null ? undefined : keys.find(({ id }) => id === shown.id)
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
        : { name: created.name, key: shown.secret, url: context.origins().base },
    isRevoked,
  })
  return context.show(reply, visit, { title: 'Keys', body })
}

function addList(scope: FastifyInstance, context: PagesContext): void {
  scope.get<WithDone>(path, async (request, reply) => {
    const visit = await context.visits.begin(request, reply)
    if (!isSignedIn(visit)) return toSignIn(reply, path)
    const isRevoked = request.query.done === 'revoked'
    return showKeys(context, { request, reply }, visit, { draft: emptyDraft, isRevoked })
  })
}

function addCreation(scope: FastifyInstance, context: PagesContext): void {
  scope.post(path, async (request, reply) => {
    const form = formOf(request)
    const visit = await context.visits.accept(request, reply, { form, arriving: false })
    if (visit === null) return context.refusePost(request, reply)
    if (!isSignedIn(visit) || !visit.session.isFresh) return toSignIn(reply, path)
    const { user, session } = visit
    const typed = { name: (form.get('name') ?? '').trim(), expires: form.get('expires') ?? '' }
    const expires = toExpiry(typed.expires.trim(), user)
    const refuse = (draft: Partial<KeyDraft>, status: number) =>
      showKeys(context, { request, reply: reply.code(status) }, visit, {
        draft: { ...emptyDraft, ...typed, ...draft },
        isRevoked: false,
      })
    if (expires === undefined) {
      return refuse(
        { problems: { expires: 'Give a day such as 2027-01-31, or leave it empty' } },
        400,
      )
    }
    try {
      const input = { ...(typed.name === '' ? {} : { name: typed.name }), expires }
      const { row, key } = await context.actions.createKey(toBy(visit), user.id, input)
      context.shownOnce.put(reply, session, path, { id: row.id, secret: key })
      return reply.redirect(path, 303)
    } catch (error) {
      if (!(error instanceof ApiError) || error.status >= 500) throw error
      return refuse(toDraftProblems(error), error.status)
    }
  })
}

/**
 * The end of a day in the person's zone as an instant; null: never; undefined: this is no day.
 */
function toExpiry(day: string, user: UserRow): string | null | undefined {
  if (day === '') return null
  if (parseDay(day) === null) return undefined
  return toIso(Math.ceil(getZone(zoneOf(user)).startOfDay(addDays(day, 1)) / microsPerMs))
}

function toDraftProblems(error: ApiError): Partial<KeyDraft> {
  const details = error.details ?? []
  const find = (name: string) =>
    details.find((detail) => detail.startsWith(`${name}: `))?.slice(name.length + 2)
  const [name, expires] = [find('name'), find('expires')]
  if (name === undefined && expires === undefined) return { message: error.message }
  return {
    problems: {
      ...(name === undefined ? {} : { name: `The name ${name}` }),
      ...(expires === undefined ? {} : { expires: `The last day ${expires}` }),
    },
  }
}

function addRevocation(scope: FastifyInstance, context: PagesContext): void {
  const { visits, store, clock } = context

  /** An active key of this person; another's, or one that has ended, is treated as one that does not exist. */
  async function findActive(visit: SignedIn, text: string): Promise<KeyRow | null> {
    const id = parseUuid<KeyId>(text)
    const keys = id === null ? [] : await store.keys.list(visit.user.id)
    return keys.find((key) => key.id === id && toKeyStatus(key, clock.now()) === 'active') ?? null
  }

  scope.get<WithKey>('/keys/:key/revoke', async (request, reply) => {
    const visit = await visits.begin(request, reply)
    if (!isSignedIn(visit)) return toSignIn(reply, path)
    const key = await findActive(visit, request.params.key)
    if (key === null) return reply.redirect(path, 303)
    const body = renderRevoke(key, visit.formToken)
    return context.show(reply, visit, { title: 'Revoke this key?', body })
  })

  scope.post<WithKey>('/keys/:key/revoke', async (request, reply) => {
    const form = formOf(request)
    const visit = await visits.accept(request, reply, { form, arriving: false })
    if (visit === null) return context.refusePost(request, reply)
    if (!isSignedIn(visit)) return toSignIn(reply, path)
    const key = await findActive(visit, request.params.key)
    if (key === null || form.get('decision') !== 'confirm') return reply.redirect(path, 303)
    await context.actions.revokeKey(toBy(visit), key.id)
    return reply.redirect(`${path}?done=revoked`, 303)
  })
}

function zoneOf({ timezone }: UserRow): string {
  return timezone ?? defaultTimezone
}

function toBy({ user, session }: SignedIn): By {
  return { actor: { kind: 'person', userId: user.id, sessionId: session.id } }
}
