/**
 * Who is signed in as the operator: a cookie that the admin token has signed, for eight hours. With another
 * token nobody is signed in any more. Forms carry a token that is derived from the cookie.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Secret } from '#kernel/secret.ts'
import type { Clock } from '#kernel/time.ts'

export interface OperatorSessions {
  /** The cookie of a request, where it is valid; null: nobody is signed in. */
  read(request: FastifyRequest): string | null
  begin(reply: FastifyReply): void
  end(reply: FastifyReply): void
  /** What the forms of this session carry. */
  formToken(session: string): string
  isOwnForm(session: string, given: string | null): boolean
}

const name = 'tributary-operator'
const lifeSeconds = 8 * 3600
/** The admin listener serves plain HTTP, so the cookie cannot be `Secure`. */
const attributes = 'Path=/; HttpOnly; SameSite=Strict'

export function makeOperatorSessions({
  adminToken,
  clock,
}: {
  readonly adminToken: Secret<string>
  readonly clock: Clock
}): OperatorSessions {
  const sign = (text: string) =>
    createHmac('sha256', adminToken.reveal()).update(text).digest('base64url')
  const isSigned = (text: string, given: string) => {
    const [wanted, found] = [Buffer.from(sign(text)), Buffer.from(given)]
    return wanted.length === found.length && timingSafeEqual(wanted, found)
  }
  const formToken = (session: string) => sign(`form ${session}`)

  return {
    read({ headers }) {
      const cookies = (headers.cookie ?? '').split(';').map((pair) => pair.trim())
      const value = cookies.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1)
      const [until = '', signature = ''] = (value ?? '').split('.')
      if (!/^\d{1,15}$/.test(until) || !isSigned(`session ${until}`, signature)) return null
      return Number(until) > clock.now() ? (value ?? null) : null
    },
    begin(reply) {
      const until = clock.now() + lifeSeconds * 1000
      const value = `${until}.${sign(`session ${until}`)}`
      reply.header('set-cookie', `${name}=${value}; ${attributes}; Max-Age=${lifeSeconds}`)
    },
    end: (reply) => void reply.header('set-cookie', `${name}=; ${attributes}; Max-Age=0`),
    formToken,
    isOwnForm: (session, given) => isSigned(`form ${session}`, given ?? ''),
  }
}
