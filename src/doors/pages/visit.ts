/**
 * One visit to a page: who is signed in, the token its forms carry, and whether a post may be believed. A post counts
 * only when it comes from our own pages: its Origin (or Sec-Fetch-Site) says so where a browser sends them, and its
 * form token belongs to the cookie.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { formTokenOf, isFormToken, type Session, type Sessions } from '#auth/accounts/sessions.ts'
import type { Store, UserRow } from '#store/port.ts'
import type { OwnNames } from '../own-names.ts'
import type { Cookies } from './cookies.ts'

export interface Visit {
  readonly session: Session | null
  readonly user: UserRow | null
  /** Goes into every form as the hidden field `token`. */
  readonly formToken: string
}

export interface Visits {
  /** For a GET: sets the visitor's cookie when nobody is signed in and there is none. */
  begin(request: FastifyRequest, reply: FastifyReply): Promise<Visit>
  /**
   * For a POST: null when it did not come from a page of ours. While somebody is signed in, only their session's token
   * counts; a form that lets somebody in (`arriving`) may have been opened before.
   */
  accept(
    request: FastifyRequest,
    reply: FastifyReply,
    options: { readonly form: URLSearchParams; readonly arriving: boolean },
  ): Promise<Visit | null>
}

export interface VisitOptions {
  readonly store: Store
  readonly sessions: Sessions
  readonly cookies: Cookies
  readonly names: OwnNames
}

export function makeVisits({ store, sessions, cookies, names }: VisitOptions): Visits {
  async function begin(request: FastifyRequest, reply: FastifyReply): Promise<Visit> {
    const token = cookies.session(request)
    const session = await sessions.find(token)
    const user = session === null ? null : await store.users.find(session.userId)
    if (user === null || token === null) {
      const formToken = formTokenOf(cookies.visitor(request, reply))
      return { session: null, user: null, formToken }
    }
    return { session, user, formToken: formTokenOf(token) }
  }

  return {
    begin,
    async accept(request, reply, { form, arriving }) {
      if (!comesFromOurselves(request, names)) return null
      const visit = await begin(request, reply)
      const strict = visit.user !== null && !arriving
      const held = [cookies.session(request), strict ? null : cookies.givenVisitor(request)]
      const given = form.get('token') ?? ''
      const isOurs = held.some((cookie) => cookie !== null && isFormToken(given, cookie))
      return isOurs ? visit : null
    },
  }
}

/** Browsers send Origin with every post; scripts may send neither header, and have the form token alone to show. */
function comesFromOurselves(request: FastifyRequest, names: OwnNames): boolean {
  const { origin } = request.headers
  if (origin !== undefined) return names.isOwnOrigin(origin, request)
  const site = request.headers['sec-fetch-site']
  return site === undefined || site === 'same-origin' || site === 'none'
}
