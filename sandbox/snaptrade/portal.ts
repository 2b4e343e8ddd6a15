/**
 * The connection portal of the emulator: the page on which a person picks a broker and signs in.
 * Plain HTML with one link per outcome; it ends, as the real one does, by sending the browser to
 * `customRedirect`.
 */
import type { EmulatorReply, EmulatorRequest } from '../emulator.ts'
import { refuse } from './auth.ts'
import { makeAccount, makeConnection } from './factories.ts'
import { readObject } from './request-body.ts'
import { brokerages, makeUuid } from './securities.ts'
import type { SnapTradePerson } from './shapes.ts'
import type { PortalSession, SnapTradeState } from './state.ts'

const lifeMs = 5 * 60_000
const maxSessions = 1_000

interface Opening {
  readonly request: EmulatorRequest
  readonly state: SnapTradeState
  readonly nowMs: number
  readonly person: SnapTradePerson
}

/** `POST /snapTrade/login`: a link that is valid for five minutes. */
export function openPortal({ request, state, nowMs, person }: Opening): EmulatorReply {
  const body = readObject(request.body)
  if (body === null) return refuse(400, '1012', 'Unable to read the body')
  const { broker, reconnect, customRedirect, connectionType = 'read' } = body
  if (connectionType !== 'read' && connectionType !== 'trade' && connectionType !== tradeIf) {
    return refuse(400, '1012', 'connectionType must be read, trade or trade-if-available')
  }
  if (broker !== undefined && brokerages[String(broker)] === undefined) {
    return refuse(400, '1012', 'Unknown broker')
  }
  const known = person.connections.some(({ id }) => id === reconnect)
  if (reconnect !== undefined && !known) return refuse(404, '1011', 'No such connection')
  if (state.sessions.size >= maxSessions) state.sessions.clear()
  const session: PortalSession = {
    id: makeUuid(`session:${person.userId}:${nowMs}:${state.sessions.size}`),
    userId: person.userId,
    broker: broker === undefined ? null : String(broker),
    reconnect: reconnect === undefined ? null : String(reconnect),
    customRedirect: typeof customRedirect === 'string' ? customRedirect : null,
    connectionType: connectionType === 'read' ? 'read' : 'trade',
    expiresAt: nowMs + lifeMs,
  }
  state.sessions.set(session.id, session)
  const query = new URLSearchParams({ token: session.id, sessionId: session.id })
  const redirectURI = `http://${request.headers.host}/snapTrade/redeemToken?${query}`
  return { status: 200, body: { redirectURI, sessionId: session.id } }
}

const tradeIf = 'trade-if-available'

/** The pages a browser sees, unsigned; null when the path is none of them. */
export function answerPortal(
  request: EmulatorRequest,
  state: SnapTradeState,
  world: { readonly seed: string; readonly nowMs: number },
): EmulatorReply | null {
  if (request.method !== 'GET' || !request.path.startsWith('/snapTrade/redeemToken')) return null
  const session = state.sessions.get(request.query.get('token') ?? '')
  if (session === undefined || session.expiresAt <= world.nowMs) {
    return page(403, 'This link has expired', '<p>Go back and start again.</p>')
  }
  if (request.path === '/snapTrade/redeemToken') return choose(session)
  if (request.path !== '/snapTrade/redeemToken/finish') return null
  state.sessions.delete(session.id)
  const outcome = request.query.get('outcome')
  if (outcome === 'abandoned') return leave(session, { status: 'ABANDONED' })
  if (outcome !== 'success') {
    return leave(session, { status: 'ERROR', status_code: '403', error_code: '1066' })
  }
  const id = connect(session, request.query.get('broker') ?? 'SANDBOX', state, world)
  if (id === null)
    return leave(session, { status: 'ERROR', status_code: '401', error_code: '0000' })
  return leave(session, { status: 'SUCCESS', connection_id: id })
}

function choose(session: PortalSession): EmulatorReply {
  const slugs = session.broker === null ? Object.keys(brokerages) : [session.broker]
  const link = (outcome: string, broker: string, label: string) => {
    const query = new URLSearchParams({ token: session.id, outcome, broker })
    const target = `/snapTrade/redeemToken/finish?${query}`.replaceAll('&', '&amp;')
    return `<li><a href="${target}">${label}</a></li>`
  }
  const entries = [
    ...slugs.map((slug) => link('success', slug, `Connect ${brokerages[slug]?.displayName}`)),
    link('error', 'SANDBOX', 'Sign in with a wrong password'),
    link('abandoned', 'SANDBOX', 'Cancel'),
  ]
  return page(200, 'Connect a brokerage (sandbox)', `<ul>${entries.join('')}</ul>`)
}

/**
 * Repairs the connection named by `reconnect`, else creates a new one; its id, or null when the user
 * does not exist.
 */
function connect(
  session: PortalSession,
  brokerage: string,
  state: SnapTradeState,
  world: { readonly seed: string; readonly nowMs: number },
): string | null {
  const person = Object.values(state.people).find(({ userId }) => userId === session.userId)
  if (person === undefined || brokerages[brokerage] === undefined) return null
  const existing = person.connections.find(({ id }) => id === session.reconnect)
  if (existing !== undefined) {
    existing.disabled = false
    existing.disabledDate = null
    state.webhooks.send('CONNECTION_FIXED', { userId: person.userId, connection: existing })
    return existing.id
  }
  const key = `portal:${session.id}`
  const connection = makeConnection(key, world, {
    brokerage,
    type: session.connectionType,
    createdDate: new Date(world.nowMs).toISOString(),
  })
  connection.accounts = [makeAccount(key, world, { name: 'New Account', number: 'NEW00012345' })]
  person.connections.push(connection)
  state.webhooks.send('CONNECTION_ADDED', { userId: person.userId, connection })
  return connection.id
}

function leave(session: PortalSession, outcome: Record<string, string>): EmulatorReply {
  if (session.customRedirect === null) return page(200, 'Done', '<p>You may close this page.</p>')
  const mark = session.customRedirect.includes('?') ? '&' : '?'
  const location = `${session.customRedirect}${mark}${new URLSearchParams(outcome)}`
  return { status: 302, headers: { location }, body: '' }
}

function page(status: number, title: string, content: string): EmulatorReply {
  const head = `<meta charset="utf-8"><title>${title}</title>`
  const body = `<!doctype html><html lang="en">${head}<h1>${title}</h1>${content}</html>`
  return { status, headers: { 'content-type': 'text/html; charset=utf-8' }, body }
}
