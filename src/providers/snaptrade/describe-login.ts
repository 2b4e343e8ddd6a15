/** What operators are told of a login at SnapTrade without a call: whose key reads it decides the rest. */
import type { LoginAccess } from '../credentials.ts'
import type { Login } from '../port.ts'
import { findObstacle, isPersonalLogin, type OwnKey } from './keys.ts'

const dashboard = 'the SnapTrade Dashboard of the key’s owner'

export function describeLogin(own: OwnKey | null, login: Login, email: string): LoginAccess {
  const obstacle = findObstacle(own, login)
  if (!isPersonalLogin(login)) {
    return {
      obstacle,
      renewal: `${email} presses Reconnect on the page of the connection (/connections), which leads to SnapTrade`,
      whenRefused:
        'Look at the plan and the limits of the key of SNAPTRADE_CLIENT_ID in the SnapTrade Dashboard',
    }
  }
  const key =
    login.secret === null
      ? 'set a new key in SNAPTRADE_CLIENT_ID and SNAPTRADE_CONSUMER_KEY'
      : `link a new key with \`tributary connections link ${email} --provider snaptrade --client-id X --consumer-key -\``
  return {
    obstacle,
    renewal: `Reconnect the broker in ${dashboard}; where the key itself was replaced, ${key}`,
    whenRefused: `Look at the broker’s connection and the plan in ${dashboard}`,
  }
}
