/**
 * What a page says once after a form: `?done=` names the sentence, and a cookie that the redirect sets proves
 * that this browser sent the form just now. A link from elsewhere, or a reload, says nothing.
 */
import type { FastifyReply } from 'fastify'
import type { Cookies } from './cookies.ts'

const lifeSeconds = 60

/** What each page says of a form that was sent again before the first one ended (`under_way`). */
export const formUnderWay =
  'That form was sent twice, and the first one has not ended. Look here again in a moment; if nothing has changed, send it again.'

/** The path of a local address and the name after `?done=`; null when it has none. */
function readNote(address: string): string | null {
  const [path = '', query = ''] = address.split('?', 2)
  const name = new URLSearchParams(query).get('done')
  return name === null ? null : encodeURIComponent(`${path}?done=${name}`)
}

/** Remembers that this browser is sent to `address` after a form; without `?done=`, nothing. */
export function rememberDone(cookies: Cookies, reply: FastifyReply, address: string): void {
  const note = readNote(address)
  if (note !== null) cookies.setSealed(reply, 'done', note, lifeSeconds)
}

/** The name in `?done=` of this request, if this browser was redirected to it; valid once. */
export function takeDone(cookies: Cookies, reply: FastifyReply): string | null {
  const { request } = reply
  const note = readNote(request.url)
  if (note === null || cookies.sealed(request, 'done') !== note) return null
  cookies.clearSealed(reply, 'done')
  return new URLSearchParams(request.url.split('?', 2)[1]).get('done')
}
