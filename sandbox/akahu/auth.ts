/**
 * Authentication of the Akahu emulator: user endpoints need the user's bearer token and the app's id, app endpoints
 * HTTP Basic. It only checks credentials; `routes.ts` has the answers.
 */
import type { EmulatorReply, EmulatorRequest } from '../emulator.ts'
import type { AkahuPeople } from './demo.ts'
import type { AkahuPerson } from './people.ts'
import { refusal } from './wire.ts'

export interface AkahuApp {
  readonly appToken: string
  readonly appSecret: string
}

/** The person whose token was sent, or the refusal: 403 without the app's id, 401 for an invalid token. */
export function authenticateUser(
  request: EmulatorRequest,
  app: AkahuApp,
  people: AkahuPeople,
): { person: AkahuPerson } | { refused: EmulatorReply } {
  const appId = request.headers['x-akahu-id']
  if (appId === undefined) return { refused: refusal(403, 'Missing X-Akahu-Id header') }
  if (appId !== app.appToken) return { refused: refusal(403, 'Unknown application') }
  const token = /^Bearer (\S+)$/.exec(request.headers.authorization ?? '')?.[1]
  const person = Object.values(people).find(
    (candidate) => candidate.userToken !== null && candidate.userToken === token,
  )
  if (person === undefined) return { refused: refusal(401, 'Invalid or revoked user token') }
  return { person }
}

/** Null when the HTTP Basic credentials are valid, else the refusal. */
export function authenticateApp(request: EmulatorRequest, app: AkahuApp): EmulatorReply | null {
  const expected = Buffer.from(`${app.appToken}:${app.appSecret}`).toString('base64')
  if (request.headers.authorization === `Basic ${expected}`) return null
  return refusal(401, 'Invalid app credentials')
}
