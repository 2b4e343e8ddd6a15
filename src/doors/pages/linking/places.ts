/** The addresses of linking: its pages, where a browser returns, and where its forms may lead. */
import type { FastifyRequest } from 'fastify'
import type { ConnectionRow } from '#store/ports/connections.ts'
import type { PagesContext } from '../context.ts'

export const newPath = '/connections/new'
export const listPath = '/connections'

export const waitingPath = (attempt: string) => `/connections/waiting/${attempt}`

/** The page of one new connection, or the list when there are several. */
export function toLinked(rows: readonly ConnectionRow[], isRenewal = false): string {
  const [only, ...others] = rows
  return only !== undefined && others.length === 0
    ? `${listPath}/${only.id}?done=${isRenewal ? 'reconnected' : 'linked'}`
    : `${listPath}?done=linked`
}

const loopback = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/i

/** Where a browser returns. A session belongs to the one of loopback's names that the browser uses. */
export function toReturnOrigin(
  { origins }: Pick<PagesContext, 'origins'>,
  { headers }: Pick<FastifyRequest, 'headers'>,
): string {
  const { base } = origins()
  const { protocol, host: baseHost } = new URL(base)
  const host = headers.host ?? ''
  const isLocal = loopback.test(baseHost) && loopback.test(host)
  // A proxy on this machine may serve https under a loopback name.
  return isLocal ? `${protocol}//${host.toLowerCase()}` : base
}
