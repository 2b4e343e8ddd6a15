/**
 * The connection portal of the emulator: the page on which a person picks a broker and decides. A form
 * without JavaScript with a button for each outcome; it ends, as the real one does, by sending the browser to
 * `customRedirect`.
 */
import {
  carry,
  choose,
  decide,
  isReturnAddress,
  leaveTo,
  markup,
  others,
  showEnd,
  showPage,
} from '../consent-page.ts'
import type { EmulatorReply, EmulatorRequest } from '../emulator.ts'
import { refuse } from './auth.ts'
import type { World } from './factories.ts'
import { giveConsent } from './give-consent.ts'
import { readObject } from './request-body.ts'
import { brokerages, makeUuid } from './securities.ts'
import type { SnapTradePerson } from './shapes.ts'
import type { PortalSession, SnapTradeState } from './state.ts'

const lifeMs = 5 * 60_000
const maxSessions = 1_000
export const portalPath = '/snapTrade/redeemToken'

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
  const { broker, reconnect, customRedirect, immediateRedirect, connectionType = 'read' } = body
  if (connectionType !== 'read' && connectionType !== 'trade' && connectionType !== tradeIf) {
    return refuse(400, '1012', 'connectionType must be read, trade or trade-if-available')
  }
  if (broker !== undefined && !isOpen(String(broker))) {
    return refuse(400, '1012', 'Unknown broker, or one that takes no new connections')
  }
  if (customRedirect !== undefined && !isReturnAddress(customRedirect)) {
    return refuse(400, '1012', 'customRedirect must be an https address, or one of this machine')
  }
  const known = person.connections.some(({ id }) => id === reconnect)
  if (reconnect !== undefined && !known) return refuse(404, '1011', 'No such connection')
  if (state.sessions.size >= maxSessions) state.sessions.clear()
  const session: PortalSession = {
    id: makeUuid(`session:${person.userId}:${nowMs}:${state.sessions.size}`),
    userId: person.userId,
    broker: broker === undefined ? null : String(broker),
    reconnect: reconnect === undefined ? null : String(reconnect),
    customRedirect: customRedirect ?? null,
    isImmediate: immediateRedirect === true,
    connectionType: connectionType === 'read' ? 'read' : 'trade',
    expiresAt: nowMs + lifeMs,
  }
  state.sessions.set(session.id, session)
  const query = new URLSearchParams({ token: session.id, sessionId: session.id })
  const redirectURI = `http://${request.headers.host}${portalPath}?${query}`
  return { status: 200, body: { redirectURI, sessionId: session.id } }
}

const tradeIf = 'trade-if-available'
const isOpen = (slug: string) => (brokerages[slug]?.state ?? 'maintenance') !== 'maintenance'

/** The page of a browser, unsigned: `GET` shows it, `POST` decides; null when the path is another. */
export function answerPortal(
  request: EmulatorRequest,
  state: SnapTradeState,
  world: World,
): EmulatorReply | null {
  if (request.path !== portalPath) return null
  const isDecision = request.method === 'POST'
  const fields = isDecision ? new URLSearchParams(request.body) : request.query
  const session = state.sessions.get(fields.get('token') ?? '')
  if (session === undefined || session.expiresAt <= world.nowMs) {
    const text =
      'A link to this page works once, for five minutes. Go back to the app and start again.'
    return { ...showEnd('SnapTrade', 'This link has expired', text), status: 403 }
  }
  if (!isDecision) return showForm(session, state, null)
  const decision = fields.get('decision') ?? ''
  if (decision === 'expire') {
    state.sessions.delete(session.id)
    return showEnd('SnapTrade', 'This link has expired', 'Go back to the app and start again.')
  }
  const failure = failures.find(({ code }) => code === decision)
  if (decision !== 'connect' && decision !== 'abandon' && failure === undefined) {
    return showForm(session, state, 'Choose what happens.')
  }
  const slug = session.broker ?? fields.get('broker') ?? ''
  if (decision === 'connect' && session.reconnect === null && !isOpen(slug)) {
    return showForm(session, state, 'Choose a broker.')
  }
  state.sessions.delete(session.id)
  if (decision === 'abandon') return leave(session, { status: 'ABANDONED' })
  if (failure !== undefined) return fail(session, failure)
  const connection = giveConsent(session, slug, state, world)
  if (connection === null) return fail(session, unknownUser)
  return leave(session, { status: 'SUCCESS', connection_id: connection.id })
}

interface Failure {
  readonly code: string
  readonly status: string
  readonly label: string
}

const unknownUser: Failure = { code: '0000', status: '401', label: 'The user is not known' }
/** As the documentation lists them. */
const failures: readonly Failure[] = [
  { code: '1066', status: '403', label: 'Wrong password' },
  { code: '1086', status: '400', label: 'Wrong second factor' },
  { code: '1023', status: '400', label: 'Another account than before' },
  { code: '1140', status: '403', label: 'Missing permissions' },
  { code: '1006', status: '400', label: 'No sign-in in progress' },
  { code: '1012', status: '400', label: 'Invalid input' },
  { code: '3000', status: '500', label: 'Connecting fails' },
  unknownUser,
]

function fail(session: PortalSession, { status, code }: Failure): EmulatorReply {
  return leave(session, { status: 'ERROR', status_code: status, error_code: code })
}

function leave(session: PortalSession, outcome: Record<string, string>): EmulatorReply {
  if (session.customRedirect === null) {
    const content = markup`<p>You may close this page.</p>`
    return showPage({ provider: 'SnapTrade', title: 'Done', content })
  }
  const reply = leaveTo(session.customRedirect, outcome)
  if (session.isImmediate) return reply
  const content = markup`<p><a href="${reply.headers?.location ?? ''}">Return to the app</a></p>`
  return showPage({ provider: 'SnapTrade', title: 'Done', content })
}

function showForm(
  session: PortalSession,
  { people }: SnapTradeState,
  problem: string | null,
): EmulatorReply {
  const person = Object.values(people).find(({ userId }) => userId === session.userId)
  const renewed = person?.connections.find(({ id }) => id === session.reconnect) ?? null
  const fixed = renewed?.brokerage ?? session.broker
  const known = Object.values(brokerages).filter(({ slug }) => isOpen(slug))
  const options = known.map(({ slug, displayName }) => ({ value: slug, label: displayName }))
  const access = session.connectionType === 'read' ? 'read, and never trade,' : 'read and trade'
  const content = markup`${problem !== null && markup`<p class="alert" role="alert">${problem}</p>`}
<p>Tributary asks to ${access} your accounts${fixed !== null && ` at ${brokerages[fixed]?.displayName ?? fixed}`}.</p>
<form method="post" action="${portalPath}">
${carry({ token: session.id })}
${fixed === null && choose('broker', 'Your broker', options)}
${decide(
  [
    ['connect', renewed === null ? 'Connect' : 'Reconnect'],
    ['abandon', 'Leave'],
  ],
  true,
)}
${others(markup`<p class="soft">Each button ends this page in another way.</p>
${decide([...failures.map(({ code, label }) => [code, label] as const), ['expire', 'The link expires']])}`)}
</form>`
  const title = renewed === null ? 'Connect a brokerage' : 'Reconnect your brokerage'
  return showPage({ provider: 'SnapTrade', title, content })
}
