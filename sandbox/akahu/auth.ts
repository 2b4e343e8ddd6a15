/**
 * Authentication of the Akahu emulator: user endpoints need the user's bearer token and the app's id, app
 * endpoints HTTP Basic. It only checks credentials; `routes.ts` has the answers.
 */
import type { EmulatorReply, EmulatorRequest } from '../emulator.ts'
import type { AkahuPeople } from './demo.ts'
import type { AkahuPerson } from './people.ts'
import type { PersonalApp } from './personal-app.ts'
import { refusal } from './wire.ts'

export interface AkahuApp {
  readonly appToken: string
  readonly appSecret: string
}

/** The person, and the personal app that was used; null: the full app. */
interface Caller {
  readonly person: AkahuPerson
  readonly app: PersonalApp | null
}

/**
 * The person whose token was sent, or the refusal: 403 without the app's id, for an unknown app, a token of
 * another app and an address outside the allow-list; 401 for an invalid token.
 */
export function authenticateUser(
  request: EmulatorRequest,
  app: AkahuApp,
  people: AkahuPeople,
): Caller | { refused: EmulatorReply } {
  const everybody = Object.values(people)
  const appId = request.headers['x-akahu-id']
  if (appId === undefined) return { refused: refusal(403, 'Missing X-Akahu-Id header') }
  const owner = everybody.find(({ personal }) => personal.appToken === appId)
  if (appId !== app.appToken && owner === undefined) {
    return { refused: refusal(403, 'Unknown application') }
  }
  if (owner?.personal.isBarred === true) {
    return { refused: refusal(403, 'This address is not on the allow-list of the app') }
  }
  const token = /^Bearer (\S+)$/.exec(request.headers.authorization ?? '')?.[1] ?? null
  if (token === null) return { refused: refusal(401, 'Invalid or revoked user token') }
  const candidates: readonly Caller[] =
    owner === undefined
      ? everybody.map((person) => ({ person, app: null }))
      : [{ person: owner, app: owner.personal }]
  const caller = candidates.find(({ person, app: used }) => (used ?? person).userToken === token)
  if (caller !== undefined) return caller
  const isOfOther = everybody.some(({ userToken, personal }) =>
    [userToken, personal.userToken].includes(token),
  )
  const said = isOfOther ? 'The user token belongs to another app' : 'Invalid or revoked user token'
  return { refused: refusal(isOfOther ? 403 : 401, said) }
}

/** Null when the HTTP Basic credentials are valid, else the refusal. */
export function authenticateApp(request: EmulatorRequest, app: AkahuApp): EmulatorReply | null {
  const expected = Buffer.from(`${app.appToken}:${app.appSecret}`).toString('base64')
  if (request.headers.authorization === `Basic ${expected}`) return null
  return refusal(401, 'Invalid app credentials')
}
