/**
 * Secrets that a page shows once. A form is answered by a redirect, so the secret crosses it in a cookie:
 * sealed, bound to the session and to the page that shows it, valid for a minute. The page that shows it
 * deletes the cookie.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Clock } from '#kernel/time.ts'
import { SealError, type Sealer } from '#store/seal.ts'
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
const purpose = 'shown-once'

const Kept = z.strictObject({ id: z.string(), secret: z.string(), until: z.int() })

export interface ShownOnceOptions {
  readonly cookies: Pick<Cookies, 'sealed' | 'setSealed' | 'clearSealed'>
  readonly sealer: Pick<Sealer, 'seal' | 'open'>
  readonly clock: Clock
}

export function makeShownOnce({ cookies, sealer, clock }: ShownOnceOptions): ShownOnce {
  const bindingOf = (session: Bound, page: string) => JSON.stringify([session.id, page])

  function open(text: string, session: Bound, page: string): ShownSecret | null {
    const { id, secret, until } = Kept.parse(
      JSON.parse(
        Buffer.from(
          sealer.open(purpose, bindingOf(session, page), Buffer.from(text, 'base64url')),
        ).toString('utf8'),
      ),
    )
    return clock.now() < until ? { id, secret } : null
  }

  return {
    put(reply, session, page, { id, secret }) {
      const kept = { id, secret, until: clock.now() + lifeSeconds * 1000 }
      const bytes = Buffer.from(JSON.stringify(kept), 'utf8')
      const sealed = sealer.seal(purpose, bindingOf(session, page), bytes)
      cookies.setSealed(reply, 'once', Buffer.from(sealed).toString('base64url'), lifeSeconds)
    },
    take(request, reply, session, page) {
      const text = cookies.sealed(request, 'once')
      if (text === null) return null
      cookies.clearSealed(reply, 'once')
      try {
        return open(text, session, page)
      } catch (error) {
        // Another session's or another page's, or damaged: there is nothing to show.
        if (error instanceof SealError) return null
        throw error
      }
    },
  }
}
