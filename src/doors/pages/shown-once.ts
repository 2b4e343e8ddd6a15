/**
 * Secrets that a page shows once. A form is answered by a redirect, so the secret crosses it in a cookie:
 * sealed, bound to the session and to the page that shows it, valid for a minute. The page that shows it
 * deletes the cookie.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { defineNotes } from '#auth/sign-in/sealed-notes.ts'
import type { Clock } from '#kernel/time.ts'
import type { Sealer } from '#store/seal.ts'
import type { Cookies } from './cookies.ts'

/** What is shown: the secret, and the id of what it belongs to. */
export interface ShownSecret {
  readonly id: string
  readonly secret: string
}

/** Whose secret it is: a session, or what only this browser has. */
interface Bound {
  readonly id: string
}

export interface ShownOnce {
  /** Keeps a secret for the page that follows. `page` names that page. */
  put(reply: FastifyReply, session: Bound, page: string, shown: ShownSecret): void
  /** The secret that was kept for this page and session, if any; afterwards there is none. */
  take(
    request: FastifyRequest,
    reply: FastifyReply,
    session: Bound,
    page: string,
  ): ShownSecret | null
}

const lifeSeconds = 60
const notes = defineNotes('shown-once', lifeSeconds * 1000, { id: z.string(), secret: z.string() })

export interface ShownOnceOptions {
  readonly cookies: Pick<Cookies, 'sealed' | 'setSealed' | 'clearSealed'>
  readonly sealer: Pick<Sealer, 'seal' | 'open'>
  readonly clock: Clock
}

export function makeShownOnce(options: ShownOnceOptions): ShownOnce {
  const { cookies } = options
  const bindingOf = (session: Bound, page: string) => JSON.stringify([session.id, page])
  return {
    put(reply, session, page, { id, secret }) {
      const text = notes.seal(options, bindingOf(session, page), { id, secret })
      cookies.setSealed(reply, 'once', text, lifeSeconds)
    },
    take(request, reply, session, page) {
      const text = cookies.sealed(request, 'once')
      if (text !== null) cookies.clearSealed(reply, 'once')
      const note = notes.open(options, bindingOf(session, page), text)
      return note === null ? null : { id: note.id, secret: note.secret }
    },
  }
}
