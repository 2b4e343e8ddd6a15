/**
 * One visit to a page: who is signed in, the token for its forms, and whether a post is genuine. A post is
 * accepted only from our own pages: its Origin (or Sec-Fetch-Site), where the browser sends one, must be
 * ours, and its form token must belong to the cookie.
 */
import { hash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { formTokenOf, isFormToken, type Session, type Sessions } from '#auth/sign-in/sessions.ts'
import type { PersonPresent } from '#contract/actor.ts'
import { makeGoodTokens } from '#gate/admit.ts'
import { toAddressGroup } from '#kernel/addresses.ts'
import type { StoreReader } from '#store/ports/reader.ts'
import type { UserRow } from '#store/ports/users.ts'
import type { AllowedHosts } from '../allowed-hosts.ts'
import type { Cookies } from './cookies.ts'

export interface Visit {
  /** The network address of the browser. */
  readonly address: string
  /** What a provider may be told of the person's browser while they are present. */
  readonly person: PersonPresent
  readonly session: Session | null
  readonly user: UserRow | null
  /** Goes into every form as the hidden field `token`. */
  readonly formToken: string
}

export interface SignedIn extends Visit {
  readonly session: Session
  readonly user: UserRow
}

export function isSignedIn(visit: Visit): visit is SignedIn {
  return visit.session !== null && visit.user !== null
}

export interface Visits {
  /** For a GET: sets the visitor's cookie when there is neither a session nor a visitor's cookie. */
  begin(request: FastifyRequest, reply: FastifyReply): Promise<Visit>
  /**
   * For a POST: null when it did not come from one of our pages. With a session, only the session's token is
   * accepted; a sign-in form (`arriving`) may have been opened before the session began.
   */
  accept(
    request: FastifyRequest,
    reply: FastifyReply,
    options: { readonly form: URLSearchParams; readonly arriving: boolean },
  ): Promise<Visit | null>
}

/** None of them holds a secret of ours: cookies and forms stay here. */
const told = ['user-agent', 'accept', 'accept-charset', 'accept-encoding', 'accept-language']
/** A longer value is left out. */
const maxToldLength = 1024

function pickHeaders({ headers }: FastifyRequest): PersonPresent['headers'] {
  const picked = told.flatMap((name): [string, string][] => {
    const value = headers[name]
    return typeof value === 'string' && value.length <= maxToldLength ? [[name, value]] : []
  })
  return Object.fromEntries(picked)
}

export interface VisitOptions {
  readonly store: Pick<StoreReader, 'users' | 'forStranger'>
  readonly sessions: Sessions
  readonly cookies: Cookies
  readonly names: AllowedHosts
  readonly addressOf: (request: FastifyRequest) => string
}

export function makeVisits(options: VisitOptions): Visits {
  const { store, sessions, cookies, names } = options
  const good = makeGoodTokens()

  /** Whoever has no session known to be good waits for a turn of their address. */
  async function findSession(token: string | null, address: string): Promise<Session | null> {
    if (token === null) return null
    const digest = hash('sha256', token, 'base64')
    const find = () => sessions.find(token)
    const session = await (good.has(digest)
      ? find()
      : store.forStranger(toAddressGroup(address), find))
    if (session === null) good.delete(digest)
    else good.set(digest, true)
    return session
  }

  async function begin(request: FastifyRequest, reply: FastifyReply): Promise<Visit> {
    const address = options.addressOf(request)
    const person = { address, headers: pickHeaders(request) }
    const token = cookies.session(request)
    const session = await findSession(token, address)
    const user = session === null ? null : await store.users.find(session.userId)
    if (user === null || token === null) {
      const formToken = formTokenOf(cookies.visitor(request, reply))
      return { address, person, session: null, user: null, formToken }
    }
    return { address, person, session, user, formToken: formTokenOf(token, user.id) }
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

/**
 * Browsers send Origin with every post. A client that sends neither header is judged by its form token alone.
 */
function comesFromOurselves(request: FastifyRequest, names: AllowedHosts): boolean {
  const { origin } = request.headers
  if (origin !== undefined) return names.isOwnOrigin(origin, request)
  const site = request.headers['sec-fetch-site']
  return site === undefined || site === 'same-origin' || site === 'none'
}
