/**
 * The cookies of the pages: the session's; a visitor's, from which the forms of a person who is not signed in
 * derive their token; one that recognises a browser that signed in before; and those that hold something
 * sealed for a later page. `__Host-` and Secure when the service uses https (docs/accounts.md, Pages).
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { browserLifeMs } from '#auth/sign-in/browsers.ts'
import { isToken, newToken } from '#auth/sign-in/sessions.ts'

const maxAgeSeconds = 30 * 86_400

export interface Cookies {
  session(request: Pick<FastifyRequest, 'headers'>): string | null
  setSession(reply: FastifyReply, token: string): void
  clearSession(reply: FastifyReply): void
  /** The visitor's token; created and set when there is none. */
  visitor(request: FastifyRequest, reply: FastifyReply): string
  /** Null when the browser sends none. */
  givenVisitor(request: FastifyRequest): string | null
  /** The unverified cookie of a known browser; it outlives sessions and sign-outs. */
  browser(request: FastifyRequest): string | null
  setBrowser(reply: FastifyReply, value: string): void
  /** The unverified sealed cookie of this name; null when there is none. */
  sealed(request: FastifyRequest, name: SealedCookie): string | null
  setSealed(reply: FastifyReply, name: SealedCookie, value: string, maxAgeSeconds: number): void
  clearSealed(reply: FastifyReply, name: SealedCookie): void
}

/**
 * What is sealed for a later page: a secret that it shows once; the note between the two steps of a sign-in;
 * the secret of a second factor that is being set up; the sessions that began links; a form that was
 * interrupted, and one of another tab from before it. Not sealed: which page says what was done.
 */
export type SealedCookie =
  | 'once'
  | 'code'
  | 'set-up'
  | 'link'
  | 'interrupted'
  | 'interrupted-before'
  | 'done'

export function makeCookies(options: { readonly secure: boolean }): Cookies {
  const prefix = options.secure ? '__Host-' : ''
  const sessionName = `${prefix}tributary`
  const visitorName = `${prefix}tributary-visitor`
  const browserName = `${prefix}tributary-browser`
  const toSealedName = (name: SealedCookie) => `${prefix}tributary-${name}`
  const attributes = `Path=/; HttpOnly; SameSite=Lax${options.secure ? '; Secure' : ''}`

  const set = (reply: FastifyReply, name: string, value: string, maxAge: number) =>
    reply.header('set-cookie', `${name}=${value}; ${attributes}; Max-Age=${maxAge}`)

  return {
    session: (request) => readToken(request, sessionName),
    setSession: (reply, token) => void set(reply, sessionName, token, maxAgeSeconds),
    clearSession: (reply) => void set(reply, sessionName, '', 0),
    visitor(request, reply) {
      const known = readToken(request, visitorName)
      if (known !== null) return known
      const token = newToken()
      set(reply, visitorName, token, maxAgeSeconds)
      return token
    },
    givenVisitor: (request) => readToken(request, visitorName),
    browser: (request) => readCookie(request, browserName),
    setBrowser: (reply, value) => void set(reply, browserName, value, browserLifeMs / 1000),
    sealed: (request, name) => readCookie(request, toSealedName(name)) || null,
    setSealed: (reply, name, value, maxAge) => void set(reply, toSealedName(name), value, maxAge),
    clearSealed: (reply, name) => void set(reply, toSealedName(name), '', 0),
  }
}

/** Whether the header has a cookie of a session, valid or not. */
export const hasSession = (header: string | undefined): boolean =>
  /(?:^|; ?)(?:__Host-)?tributary=[^;]/.test(header ?? '')

/** Reads one of our cookies; a value that does not have the format of our tokens counts as absent. */
function readToken(request: Pick<FastifyRequest, 'headers'>, name: string): string | null {
  const value = readCookie(request, name)
  return value !== null && isToken(value) ? value : null
}

function readCookie(request: Pick<FastifyRequest, 'headers'>, name: string): string | null {
  for (const pair of (request.headers.cookie ?? '').split(';')) {
    const cut = pair.indexOf('=')
    if (cut !== -1 && pair.slice(0, cut).trim() === name) return pair.slice(cut + 1).trim()
  }
  return null
}
