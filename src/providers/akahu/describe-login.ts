/** What operators are told of a person's login at Akahu without a call: its app decides every next step. */
import type { LoginAccess } from '../credentials.ts'
import type { Login } from '../port.ts'
import { type AkahuClient, noAppDetail } from './client.ts'
import { tokensOf } from './tokens.ts'

const ownApp = {
  whenRefused:
    'Look at my.akahu.nz, Developers: the permissions of the app, the accounts that it may see, and its IP allow-list, which must contain this server’s address',
}
const fullApp = {
  whenRefused: 'Ask Akahu which permissions the app of AKAHU_APP_TOKEN has',
}

export function describeLogin(
  client: Pick<AkahuClient, 'isPersonal'>,
  login: Login,
  email: string,
): LoginAccess {
  // Without a secret the token was revoked at Akahu, and which app it was of is forgotten.
  const isPersonal = login.secret === null ? false : client.isPersonal(tokensOf(login))
  if (isPersonal === true) {
    const renewal = `Copy both tokens at my.akahu.nz, Developers, and link them: \`tributary connections link ${email} --provider akahu --user-token - --app-token -\``
    return { ...ownApp, obstacle: null, renewal }
  }
  const renewal = `${email} presses Reconnect on the page of the connection (/connections), which leads to Akahu`
  return { ...fullApp, obstacle: isPersonal === null ? noAppDetail : null, renewal }
}
