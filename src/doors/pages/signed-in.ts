/**
 * Pages and forms of a person who is signed in. A visitor is sent to the sign-in and back; a form that did
 * not come from one of our pages is refused; a change that needs the password again leads to it first.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { timezoneOf } from '#auth/caller.ts'
import type { By, Person } from '#contract/actor.ts'
import { ApiError } from '#contract/errors.ts'
import { OwnerGoneError } from '#store/failure.ts'
import type { UserRow } from '#store/ports/users.ts'
import type { PagesContext } from './context.ts'
import { takeDone } from './done-notes.ts'
import { formOf, localPath, toSignIn } from './forms.ts'
import type { Html } from './html.ts'
import { renderNotice } from './notices.ts'
import { askToRetry } from './sign-in/entering.ts'
import { isSignedIn, type SignedIn } from './visit.ts'

export interface SignedInRequest {
  readonly visit: SignedIn
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  /** A part of the path by its name; empty when there is none. */
  part(name: string): string
}

export interface FormTurn extends SignedInRequest {
  readonly form: URLSearchParams
}

type Handler<Given extends SignedInRequest> = (turn: Given) => Promise<FastifyReply>

interface Place {
  readonly path: string
}

interface FormPlace extends Place {
  /**
   * Where a visitor continues after signing in: a page, since the form itself is not sent again. Absent: the
   * one with the form's own address.
   */
  readonly returnTo?: string
  /** The password must have been given in the last ten minutes. */
  readonly isSensitive?: boolean
  /** The fields that are filled in again when the sender has to sign in first. Never a secret. */
  readonly kept?: readonly string[]
  /**
   * It creates something: sent twice, it is carried out once, and `returnTo` says so (`?done=repeated`, or
   * `?done=under_way` while the first one has not ended).
   */
  readonly isOnce?: boolean
}

/** Mounts a page. A visitor returns to it after signing in, with its query. */
export function addPage(
  scope: FastifyInstance,
  context: PagesContext,
  { path }: Place,
  show: Handler<SignedInRequest>,
): void {
  scope.get(path, async (request, reply) => {
    const visit = await context.visits.begin(request, reply)
    const from = localPath(request.url)
    if (!isSignedIn(visit)) return toSignIn(reply, from)
    const turn = { visit, request, reply, part: toPart(request) }
    const places = { signIn: from, list: '/' }
    return show(turn).catch((error: unknown) => redirectIfGone(error, reply, places))
  })
}

/** Mounts the target of a form. */
export function addForm(
  scope: FastifyInstance,
  context: PagesContext,
  { path, isSensitive = false, isOnce = false, kept = [], ...place }: FormPlace,
  act: Handler<FormTurn>,
): void {
  scope.post(path, async (request, reply) => {
    const form = formOf(request)
    const returnTo = place.returnTo ?? pathOf(request)
    const visit = await context.visits.accept(request, reply, { form, arriving: false })
    if (visit === null) return context.refusePost(request, reply)
    if (!isSignedIn(visit) || (isSensitive && !visit.session.isFresh)) {
      return context.interrupted.interrupt(reply, { path: returnTo, form, kept })
    }
    const wait = await context.signIns.countForm(visit.user.id)
    if (wait !== null) return refuseSurplus(context, { visit, reply }, wait)
    const turn = { visit, request, reply, form, part: toPart(request) }
    const places = { signIn: returnTo, list: returnTo }
    const acting = isOnce ? actOnce(context, turn, { returnTo, act }) : act(turn)
    return acting.catch((error: unknown) => redirectIfGone(error, reply, places))
  })
}

interface OnceAct {
  readonly returnTo: string
  readonly act: Handler<FormTurn>
}

/**
 * A form that was refused or failed made nothing, so it may be sent again; what fails after the answer was
 * sent is only logged.
 */
async function actOnce(
  { signIns, onFailure }: PagesContext,
  turn: FormTurn,
  { returnTo, act }: OnceAct,
): Promise<FastifyReply> {
  const { visit, reply, form } = turn
  const sent = { userId: visit.user.id, form, isDone: () => reply.statusCode < 400 }
  const ended = await signIns.runIdempotent(sent, async () => {
    await act(turn).catch((error: unknown) => {
      if (!reply.sent) throw error
      onFailure(error)
    })
  })
  return ended === undefined ? reply : reply.redirect(`${returnTo}?done=${ended}`, 303)
}

/** A question about one thing of the person's, before it is changed for good. */
interface Question<Thing> {
  /** Null: there is no such thing, or it is another person's. The list says so. */
  find(turn: SignedInRequest): Promise<Thing | null>
  readonly title: string
  render(thing: Thing, formToken: string): Html | Promise<Html>
  /** Makes the change; returns the path of the page that says so. */
  act(turn: FormTurn, thing: Thing): Promise<string>
  /** Where a person continues who keeps it; the list when absent. */
  keptAt?(thing: Thing): string
}

/** Mounts the page of a question and the form that answers it. `returnTo`: the list of such things. */
export function addQuestion<Thing>(
  scope: FastifyInstance,
  context: PagesContext,
  place: FormPlace & { readonly returnTo: string },
  { find, title, render, act, keptAt = () => place.returnTo }: Question<Thing>,
): void {
  const gone = `${place.returnTo}?done=gone`
  addPage(scope, context, place, async (turn) => {
    const thing = await find(turn)
    if (thing === null) return turn.reply.redirect(gone, 303)
    const body = await render(thing, turn.visit.formToken)
    return context.show(turn.reply, turn.visit, { title, body })
  })
  addForm(scope, context, place, async (turn) => {
    const thing = await find(turn)
    if (thing === null) return turn.reply.redirect(gone, 303)
    const isConfirmed = turn.form.get('decision') === 'confirm'
    return turn.reply.redirect(isConfirmed ? await act(turn, thing) : keptAt(thing), 303)
  })
}

/** Nothing was changed; the form can be sent again later. */
function refuseSurplus(
  context: PagesContext,
  { visit, reply }: Pick<SignedInRequest, 'visit' | 'reply'>,
  retryAfterSeconds: number,
): FastifyReply {
  const message = askToRetry(reply, { kind: 'slow_down', retryAfterSeconds })
  const body = renderNotice('Too many changes', `Nothing was changed. ${message}`)
  return context.show(reply, visit, { title: 'Too many changes', body })
}

/**
 * Redirects when another page or process deleted what a request is about. Without the account the person is
 * signed out by now. @param list where the page or form leads when only the thing itself is gone.
 * @throws any other error again.
 */
export function redirectIfGone(
  error: unknown,
  reply: FastifyReply,
  places: { readonly signIn: string; readonly list: string },
): FastifyReply {
  if (error instanceof OwnerGoneError) return toSignIn(reply, places.signIn)
  if (!(error instanceof ApiError) || error.status !== 404) throw error
  return error.entry === 'user_not_found'
    ? toSignIn(reply, places.signIn)
    : reply.redirect(places.list, 303)
}

/** A refusal that the page of the form explains; anything else ends the request. */
export function isFormRefusal(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status < 500 && error.status !== 404
}

function toPart({ params }: FastifyRequest): SignedInRequest['part'] {
  const named: Readonly<Record<string, unknown>> = { ...(params as object) }
  return (name) => {
    const value = named[name]
    return typeof value === 'string' ? value : ''
  }
}

/** The person as the actor of a change. */
export function toBy({ user, session, address, person }: SignedIn): By<Person> {
  return { actor: { kind: 'person', userId: user.id, sessionId: session.id, address }, person }
}

/** The IANA name of the person's zone. */
export function zoneOf({ timezone }: UserRow): string {
  return timezoneOf(timezone)
}

/** What a page says once after a redirect of ours: the name in `?done=` when one of its sentences has it. */
export function readDone<Name extends string>(
  { cookies }: Pick<PagesContext, 'cookies'>,
  reply: FastifyReply,
  sentences: Readonly<Record<Name, unknown>>,
): Name | null {
  const done = takeDone(cookies, reply)
  const names = Object.keys(sentences) as Name[]
  return names.find((name) => name === done) ?? null
}

/** What was typed into a form of this page before its sender had to sign in; null: nothing was. */
export function readKept(
  { interrupted }: Pick<PagesContext, 'interrupted'>,
  { request, visit }: SignedInRequest,
): URLSearchParams | null {
  return interrupted.read(request, pathOf(request), visit.user.id)
}

const pathOf = ({ url }: FastifyRequest): string => localPath(url).split('?', 1)[0] ?? '/'

/** A refusal as a form shows it: a sentence for each field that it names, or one for the whole form. */
export interface FormProblems<Field extends string> {
  readonly status: number
  readonly problems: Readonly<Partial<Record<Field, string>>>
  readonly message: string | null
}

/**
 * @param labels the fields of the form with the words that begin their sentences.
 * @throws what is no refusal of the input.
 */
export function toProblems<Field extends string>(
  error: unknown,
  labels: Readonly<Record<Field, string>>,
): FormProblems<Field> {
  if (!isFormRefusal(error)) throw error
  const problems: Partial<Record<Field, string>> = {}
  for (const detail of error.details ?? []) {
    for (const field of Object.keys(labels) as Field[]) {
      const rest = new RegExp(`^${field}(?:\\.\\d+)?: (.*)$`).exec(detail)?.[1]
      if (rest !== undefined) problems[field] ??= `${labels[field]} ${rest}`
    }
  }
  const isTied = Object.keys(problems).length > 0
  return { status: error.status, problems, message: isTied ? null : error.message }
}
