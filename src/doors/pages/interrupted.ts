/**
 * A form that was not carried out, because its sender had to sign in or to give the password first: the
 * sign-in says so, and then the page of the form, which fills in again what was typed. Both cross over in a
 * sealed cookie, and a form of another tab in a second one. Only fields that a form names are kept;
 * passwords, codes and tokens of providers never are.
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
 * in again, and of the forms of two tabs the earlier one only where both fit together.
 */
const maxLength = 3783

/** The newest one, and the newest one of another page. */
const places = ['interrupted', 'interrupted-before'] as const

const notes = defineNotes('interrupted-form', lifeSeconds * 1000, {
  path: z.string(),
  /** Whose form it was, as its token says; null: a visitor's. */
  owner: z.string().nullable(),
  fields: z.array(z.tuple([z.string(), z.string()])),
})

type Note = NonNullable<ReturnType<typeof notes.open>>

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
  clear(reply: FastifyReply, path: string): void
}

export interface InterruptedFormsOptions {
  readonly cookies: Cookies
  readonly sealer: Pick<Sealer, 'seal' | 'open'>
  readonly clock: Clock
}

export function makeInterruptedForms(options: InterruptedFormsOptions): InterruptedForms {
  const { cookies } = options

  function open(request: FastifyRequest, place: (typeof places)[number]) {
    return notes.open(options, '', cookies.sealed(request, place))
  }

  function find(request: FastifyRequest, path: string) {
    for (const place of places) {
      const kept = open(request, place)
      if (kept?.path === path) return kept
    }
    return null
  }

  /** Sealed with its fields where they fit into what is left, else without. */
  function seal(note: Omit<Note, 'until'>, left: number, until?: number): string {
    const whole = notes.seal(options, '', note, until)
    return whole.length <= left ? whole : notes.seal(options, '', { ...note, fields: [] }, until)
  }

  /** The form of another tab, whose sender may come back to it first. */
  function setBack(reply: FastifyReply, path: string, left: number): void {
    const earlier = open(reply.request, 'interrupted')
    if (earlier === null || earlier.path === path) return
    const { until, ...note } = earlier
    cookies.setSealed(reply, 'interrupted-before', seal(note, left, until), lifeSeconds)
  }

  return {
    interrupt(reply, { path, form, kept }) {
      const owner = ownerOfForm(form.get('token') ?? '')
      const fields = [...form].filter(([name]) => kept.includes(name))
      const text = seal({ path, owner, fields }, maxLength)
      setBack(reply, path, maxLength - text.length)
      cookies.setSealed(reply, 'interrupted', text, lifeSeconds)
      return toSignIn(reply, path)
    },
    isInterrupted: (request, path) => find(request, path) !== null,
    read(request, path, userId) {
      const { owner, fields } = find(request, path) ?? { owner: null, fields: [] }
      const isOwn = owner !== null && isFormOwner(owner, userId)
      return isOwn && fields.length > 0 ? new URLSearchParams(fields) : null
    },
    clear(reply, path) {
      for (const place of places)
        if (open(reply.request, place)?.path === path) cookies.clearSealed(reply, place)
    },
  }
}
