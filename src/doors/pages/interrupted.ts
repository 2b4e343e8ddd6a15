/**
 * A form that was not carried out, because its sender had to sign in or to give the password first: the
 * sign-in says so, and then the page of the form, which fills in again what was typed. Both cross over in a
 * sealed cookie. Only fields that a form names are kept; passwords, codes and tokens of providers never are.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { defineNotes } from '#auth/sign-in/sealed-notes.ts'
import { isFormOwner, ownerOfForm } from '#auth/sign-in/sessions.ts'
import type { UserId } from '#kernel/ids.ts'
import type { Clock } from '#kernel/time.ts'
import type { Sealer } from '#store/seal.ts'
import type { Cookies } from './cookies.ts'
import { toSignIn } from './forms.ts'

const lifeSeconds = 600
/**
 * Browsers keep 4 KiB of a cookie: this many characters are 2,800 bytes of a form. A longer one is not filled
 * in again.
 */
const maxLength = 3783

const notes = defineNotes('interrupted-form', lifeSeconds * 1000, {
  path: z.string(),
  /** Whose form it was, as its token says; null: a visitor's. */
  owner: z.string().nullable(),
  fields: z.array(z.tuple([z.string(), z.string()])),
})

export interface Interrupted {
  readonly path: string
  readonly form: URLSearchParams
  /** The names of the fields that are filled in again. */
  readonly kept: readonly string[]
}

export interface InterruptedForms {
  /** Redirects to the sign-in, which leads back to the path of the form's page. */
  interrupt(reply: FastifyReply, form: Interrupted): FastifyReply
  /** A form of the page at `path` was interrupted in this browser, and its page was not shown since. */
  isInterrupted(request: FastifyRequest, path: string): boolean
  /** What was typed; null: nothing was interrupted here, or somebody else typed it. */
  read(request: FastifyRequest, path: string, userId: UserId): URLSearchParams | null
  clear(reply: FastifyReply): void
}

export interface InterruptedFormsOptions {
  readonly cookies: Cookies
  readonly sealer: Pick<Sealer, 'seal' | 'open'>
  readonly clock: Clock
}

export function makeInterruptedForms(options: InterruptedFormsOptions): InterruptedForms {
  const { cookies } = options

  function find(request: FastifyRequest, path: string) {
    const kept = notes.open(options, '', cookies.sealed(request, 'interrupted'))
    return kept?.path === path ? kept : null
  }

  return {
    interrupt(reply, { path, form, kept }) {
      const owner = ownerOfForm(form.get('token') ?? '')
      const fields = [...form].filter(([name]) => kept.includes(name))
      const whole = notes.seal(options, '', { path, owner, fields })
      const fits = whole.length <= maxLength
      const text = fits ? whole : notes.seal(options, '', { path, owner, fields: [] })
      cookies.setSealed(reply, 'interrupted', text, lifeSeconds)
      return toSignIn(reply, path)
    },
    isInterrupted: (request, path) => find(request, path) !== null,
    read(request, path, userId) {
      const { owner, fields } = find(request, path) ?? { owner: null, fields: [] }
      const isOwn = owner !== null && isFormOwner(owner, userId)
      return isOwn && fields.length > 0 ? new URLSearchParams(fields) : null
    },
    clear: (reply) => cookies.clearSealed(reply, 'interrupted'),
  }
}
