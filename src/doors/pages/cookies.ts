/**
 * The two cookies of the pages: the session's, and a visitor's from which the forms of somebody who is not signed in get
 * their token. `__Host-` and Secure when the service is https (interfaces, pages).
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { isToken, newToken } from '#auth/accounts/sessions.ts'

const maxAgeSeconds = 30 * 86_400

export interface Cookies {
  session(request: FastifyRequest): string | null
  setSession(reply: FastifyReply, token: string): void
  clearSession(reply: FastifyReply): void
  /** The visitor's token; made and set when there is none. */
  visitor(request: FastifyRequest, reply: FastifyReply): string
  /** Null when the browser sends none. */
  givenVisitor(request: FastifyRequest): string | null
}

export function makeCookies(options: { readonly secure: boolean }): Cookies {
  const prefix = options.secure ? '__Host-' : ''
  const sessionName = `${prefix}tributary`
  const visitorName = `${prefix}tributary-visitor`
  const attributes = `Path=/; HttpOnly; SameSite=Lax${options.secure ? '; Secure' : ''}`

  const set = (reply: FastifyReply, name: string, value: string, maxAge: number) =>
    reply.header('set-cookie', `${name}=${value}; ${attributes}; Max-Age=${maxAge}`)

  return {
    session: (request) => readCookie(request, sessionName),
    setSession: (reply, token) => void set(reply, sessionName, token, maxAgeSeconds),
    clearSession: (reply) => void set(reply, sessionName, '', 0),
    visitor(request, reply) {
      const known = readCookie(request, visitorName)
      if (known !== null) return known
      const token = newToken()
      set(reply, visitorName, token, maxAgeSeconds)
      return token
    },
    givenVisitor: (request) => readCookie(request, visitorName),
  }
}

/** A cookie of ours: anything that is not shaped like one of our tokens is as good as absent. */
function readCookie(request: FastifyRequest, name: string): string | null {
  for (const pair of (request.headers.cookie ?? '').split(';')) {
    const cut = pair.indexOf('=')
    if (cut === -1 || pair.slice(0, cut).trim() !== name) continue
    const value = pair.slice(cut + 1).trim()
    return isToken(value) ? value : null
  }
  return null
}
