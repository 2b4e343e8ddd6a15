/**
 * A form that was not carried out, because its sender had to sign in or to give the password first: the
 * sign-in says so, and then the page of the form. The path of that page crosses over in a cookie; what was
 * typed is not kept.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Cookies } from './cookies.ts'
import { toSignIn } from './forms.ts'

const lifeSeconds = 600

/** Redirects to the sign-in, which leads back to `path`. */
export function interruptForm(cookies: Cookies, reply: FastifyReply, path: string): FastifyReply {
  cookies.setSealed(reply, 'interrupted', encodeURIComponent(path), lifeSeconds)
  return toSignIn(reply, path)
}

/** Whether a form of the page at `path` was interrupted in this browser, and its page was not shown since. */
export function isInterrupted(cookies: Cookies, request: FastifyRequest, path: string): boolean {
  return cookies.sealed(request, 'interrupted') === encodeURIComponent(path)
}
