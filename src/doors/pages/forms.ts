/** What comes in with a request to a page: form fields and the place to go on to. */
import type { FastifyRequest } from 'fastify'

/** The fields of a posted form; none when the body is something else. */
export function formOf(request: FastifyRequest): URLSearchParams {
  return request.body instanceof URLSearchParams ? request.body : new URLSearchParams()
}

/**
 * A path on this server, or `/`: anything that a browser could read as another host (`//`, `/\`, a scheme, control
 * characters) is not followed, so that nobody can be sent away from here by a link.
 */
export function localPath(text: string | null): string {
  if (text === null || text.length > 2048) return '/'
  return /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(text) ? text : '/'
}
