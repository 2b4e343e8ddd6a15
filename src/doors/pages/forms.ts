/** The input of page requests (form, query, the path to continue to), and the redirect to the sign-in. */
import type { FastifyReply, FastifyRequest } from 'fastify'

/** The fields of a posted form; empty when the body is something else. */
export function formOf(request: FastifyRequest): URLSearchParams {
  return request.body instanceof URLSearchParams ? request.body : new URLSearchParams()
}

export type Query = Readonly<Record<string, unknown>>

/** The parameters of the query; one that was given twice is an array. */
export const queryOf = ({ query }: FastifyRequest): Query => ({ ...(query as object) })

/**
 * A path on this server, or `/`: anything that a browser could read as another host (`//`, `/\`, a scheme,
 * control characters) is rejected, so that a link cannot redirect a person to another site. Nor can it make a
 * page say that something was done: a query with `done` is left out.
 */
export function localPath(text: string | null): string {
  if (text === null || text.length > 2048) return '/'
  if (!/^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(text)) return '/'
  const [path = '/', query = ''] = text.split('?', 2)
  return new URLSearchParams(query).has('done') ? path : text
}

/** Redirects to the sign-in, which leads back to `path`. */
export function toSignIn(reply: FastifyReply, path: string): FastifyReply {
  return reply.redirect(`/sign-in?return=${encodeURIComponent(path)}`, 303)
}
