/**
 * One visit to a page: who is signed in, the token its forms carry, and whether a post may be believed. A post counts
 * only when it comes from our own pages: its Origin (or Sec-Fetch-Site) says so where a browser sends them, and its
 * form token belongs to the cookie.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { formTokenOf, isFormToken, type Session, type Sessions } from '#auth/accounts/sessions.ts'
import type { Store, UserRow } from '#store/port.ts'
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
  /** For a POST: null when it did not come from a page of ours. */
  accept(request: FastifyRequest, reply: FastifyReply, form: URLSearchParams): Promise<Visit | null>
}

export interface VisitOptions {
  readonly store: Store
  readonly sessions: Sessions
  readonly cookies: Cookies
  /** Our own origins, e.g. `https://bank.example.com`. */
  readonly isOwnOrigin: (origin: string) => boolean
}

export function makeVisits(options: VisitOptions): Visits {
  const { store, sessions, cookies } = options

  async function whoIs(request: FastifyRequest): Promise<Pick<Visit, 'session' | 'user'>> {
    const session = await sessions.find(cookies.session(request))
    const user = session === null ? null : await store.users.find(session.userId)
    return user === null ? { session: null, user: null } : { session, user }
  }

  return {
    async begin(request, reply) {
      const who = await whoIs(request)
      const cookie =
        (who.session === null ? null : cookies.session(request)) ?? cookies.visitor(request, reply)
      return { ...who, formToken: formTokenOf(cookie) }
    },
    async accept(request, reply, form) {
      if (!comesFromOurselves(request, options.isOwnOrigin)) return null
      const given = form.get('token') ?? ''
      const held = [cookies.session(request), cookies.givenVisitor(request)]
      if (!held.some((cookie) => cookie !== null && isFormToken(given, cookie))) return null
      const who = await whoIs(request)
      const cookie =
        (who.session === null ? null : cookies.session(request)) ?? cookies.visitor(request, reply)
      return { ...who, formToken: formTokenOf(cookie) }
    },
  }
}

/** Browsers send Origin with every post; scripts may send neither header, and have the form token alone to show. */
function comesFromOurselves(
  request: FastifyRequest,
  isOwnOrigin: (origin: string) => boolean,
): boolean {
  const { origin } = request.headers
  if (origin !== undefined) return isOwnOrigin(origin)
  const site = request.headers['sec-fetch-site']
  return site === undefined || site === 'same-origin' || site === 'none'
}
