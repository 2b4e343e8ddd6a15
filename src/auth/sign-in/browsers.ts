/**
 * Recognises browsers in which a person signed in before, by a signed cookie. It proves that the password was
 * given there and has not changed since; it does not sign anybody in. Nothing is stored on the server. A
 * cookie holds marks for the last few people.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { UserId } from '#kernel/ids.ts'
import { type Clock, dayMs } from '#kernel/time.ts'

export const browserLifeMs = 365 * dayMs
const maxMarks = 4
const mark = /^([A-Za-z0-9_-]{16})\.([0-9a-z]{1,10})\.([A-Za-z0-9_-]{43})$/

/** A user and the PHC string of their current password: after a password change no browser is recognised. */
export interface Holder {
  readonly userId: UserId
  readonly passwordHash: string
}

export interface Browsers {
  /** The id of this browser when the holder signed in there before; null when not, or too long ago. */
  recognise(cookie: string | null, holder: Holder): string | null
  /** The new value of the cookie. */
  remember(cookie: string | null, holder: Holder): string
}

export interface BrowsersOptions {
  /** The first one signs, all verify. */
  readonly secrets: readonly Uint8Array[]
  readonly clock: Clock
}

export function makeBrowsers({ secrets, clock }: BrowsersOptions): Browsers {
  function sign(secret: Uint8Array, id: string, at: string, holder: Holder): string {
    const text = `browser:${id}:${at}:${holder.userId}:${holder.passwordHash}`
    return createHmac('sha256', secret).update(text).digest('base64url')
  }

  function isTheirs(text: string, holder: Holder): string | null {
    const [, id = '', at = '', given = ''] = mark.exec(text) ?? []
    if (id === '') return null
    const age = clock.now() - Number.parseInt(at, 36)
    if (age >= browserLifeMs) return null
    const found = Buffer.from(given)
    const isSigned = secrets.some((secret) =>
      timingSafeEqual(Buffer.from(sign(secret, id, at, holder)), found),
    )
    return isSigned ? id : null
  }

  function find(cookie: string | null, holder: Holder) {
    for (const text of toMarks(cookie)) {
      const id = isTheirs(text, holder)
      if (id !== null) return { id, text }
    }
    return null
  }

  return {
    recognise: (cookie, holder) => find(cookie, holder)?.id ?? null,
    remember(cookie, holder) {
      const [secret] = secrets
      if (secret === undefined) throw new RangeError('at least one secret is needed')
      const known = find(cookie, holder)
      const id = known?.id ?? randomBytes(12).toString('base64url')
      const at = clock.now().toString(36)
      const others = toMarks(cookie).filter((text) => text !== known?.text)
      return [`${id}.${at}.${sign(secret, id, at, holder)}`, ...others].slice(0, maxMarks).join('~')
    },
  }
}

/** Bounded, whatever a browser sends. */
function toMarks(cookie: string | null): readonly string[] {
  if (cookie === null || cookie.length > 1000) return []
  return cookie
    .split('~')
    .slice(0, maxMarks)
    .filter((text) => mark.test(text))
}
