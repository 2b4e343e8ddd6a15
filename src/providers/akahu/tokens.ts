/**
 * The two tokens that a call for a person carries: the person's user token, and the id token of the app it
 * was given to. The app is this installation's, or the person's own (docs/providers/akahu.md, Personal apps).
 * The token of a personal app is kept beside the user token in the login's secret, so that no user token is
 * sent with another app's token, whatever the variables become. It says what can be told of them without a
 * call, so that no other provider's token is sent to Akahu.
 */
import type { CredentialsAt } from '../credentials.ts'
import { consentGone, UpstreamError } from '../failure.ts'
import type { Login } from '../port.ts'

export interface UserTokens {
  readonly userToken: string
  /** The token of the personal app; null: the full app of this installation is used. */
  readonly appToken: string | null
}

/** Where a person finds both tokens. */
export const whereTokensAre = 'my.akahu.nz shows both tokens under Developers'

/** The characters that a header allows; a login's secret separates tokens by a blank. */
const tokenPattern = /^[\x21-\x7e]{1,512}$/
export const userTokenPattern = /^user_token_[\x21-\x7e]{1,500}$/
const userPrefix = 'user_token_'
const appPrefix = 'app_token_'

/**
 * The login's secret: the user token, followed by a blank and the app token where the app is a personal one.
 */
export function toSecret({ userToken, appToken }: UserTokens): string {
  return appToken === null ? userToken : `${userToken} ${appToken}`
}

/** The tokens of a login. Throws `consent_lost` when they were revoked at Akahu: they are deleted here. */
export function tokensOf(login: Login): UserTokens {
  if (login.secret === null) {
    const failure = { kind: 'consent_lost', becomes: 'revoked', wholeLogin: true } as const
    throw new UpstreamError('akahu', { ...failure, detail: consentGone })
  }
  const [userToken = '', appToken = null] = login.secret.split(' ')
  return { userToken, appToken }
}

/**
 * The tokens to use for a person, with the app of this installation where none of the person's is given.
 * Throws `rejected` for what cannot be such a token, and where there is no app token at all. Makes no call.
 */
export function chooseTokens(
  given: CredentialsAt<'akahu'>,
  { appToken: own, isFull }: { readonly appToken: string | null; readonly isFull: boolean },
): UserTokens {
  const { userToken, appToken } = given
  const detail = findFault(userToken, appToken, own)
  if (detail !== null) {
    throw new UpstreamError('akahu', { kind: 'rejected', status: 401, isPersonal: true, detail })
  }
  const app = appToken ?? own
  return { userToken, appToken: isFull && app === own ? null : app }
}

function findFault(
  userToken: string,
  appToken: string | undefined,
  own: string | null,
): string | null {
  if (userToken.startsWith(appPrefix) && appToken?.startsWith(userPrefix) === true) {
    return `the two tokens are swapped: the user token starts with "${userPrefix}", the app token with "${appPrefix}"`
  }
  const fault = faultOf('user', userToken)
  if (fault !== null) return fault
  if (appToken !== undefined) return faultOf('app', appToken)
  if (own === null) {
    return `there is no app token: set AKAHU_APP_TOKEN, or give the app token too (--app-token); ${whereTokensAre}`
  }
  return own.startsWith(userPrefix)
    ? `AKAHU_APP_TOKEN holds a user token; an app token starts with "${appPrefix}"; ${whereTokensAre}`
    : null
}

function faultOf(kind: 'user' | 'app', token: string): string | null {
  if (!tokenPattern.test(token)) {
    return `the ${kind} token has blanks, line ends or other characters that no token has; copy it again`
  }
  const [prefix, other] = kind === 'user' ? [userPrefix, appPrefix] : [appPrefix, userPrefix]
  if (token.startsWith(prefix) && token.length > prefix.length) return null
  const swapped = token.startsWith(other)
    ? `this is ${kind === 'user' ? 'an app' : 'a user'} token: `
    : ''
  return `${swapped}the ${kind} token of Akahu starts with "${prefix}"; copy the whole of it, ${whereTokensAre}`
}
