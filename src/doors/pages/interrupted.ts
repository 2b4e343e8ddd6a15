/**
 * A form that was not carried out, because its sender had to sign in or to give the password first: the
 * sign-in says so, and then the page of the form, which fills in again what was typed. Both cross over in a
 * sealed cookie. Only fields that a form names are kept; passwords, codes and tokens of providers never are.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { isFormOwner, ownerOfForm } from '#auth/sign-in/sessions.ts'
import type { UserId } from '#kernel/ids.ts'
import type { Clock } from '#kernel/time.ts'
import { SealError, type Sealer } from '#store/seal.ts'
import type { Cookies } from './cookies.ts'
import { toSignIn } from './forms.ts'

const lifeSeconds = 600
const purpose = 'interrupted-form'
/** Browsers keep 4 KiB of a cookie; base64 takes a quarter of it. A longer form is not filled in again. */
const maxBytes = 2_800

const Kept = z.strictObject({
  path: z.string(),
  /** Whose form it was, as its token says; null: a visitor's. */
  owner: z.string().nullable(),
  fields: z.array(z.tuple([z.string(), z.string()])),
  until: z.int(),
})
type Kept = z.infer<typeof Kept>

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
  const { cookies, sealer, clock } = options

  function find(request: FastifyRequest, path: string): Kept | null {
    const text = cookies.sealed(request, 'interrupted')
    if (text === null) return null
    try {
      const opened = sealer.open(purpose, '', Buffer.from(text, 'base64url'))
      const kept = Kept.parse(JSON.parse(Buffer.from(opened).toString('utf8')))
      return kept.path === path && clock.now() < kept.until ? kept : null
    } catch (error) {
      // Damaged, or sealed by a key that is gone: there is nothing to fill in.
      if (error instanceof SealError) return null
      throw error
    }
  }

  return {
    interrupt(reply, { path, form, kept }) {
      const owner = ownerOfForm(form.get('token') ?? '')
      const until = clock.now() + lifeSeconds * 1000
      const fields = [...form].filter(([name]) => kept.includes(name))
      const whole = toBytes({ path, owner, fields, until })
      const bytes = whole.length <= maxBytes ? whole : toBytes({ path, owner, fields: [], until })
      const sealed = Buffer.from(sealer.seal(purpose, '', bytes)).toString('base64url')
      cookies.setSealed(reply, 'interrupted', sealed, lifeSeconds)
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

function toBytes(kept: Kept): Buffer {
  return Buffer.from(JSON.stringify(kept), 'utf8')
}
