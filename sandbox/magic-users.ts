/**
 * The table of magic users: people with the same name at every provider who each show one state. It says what is to be
 * seen; who they are and what they have is decided in the providers' folders. `docs/sandbox.md` holds the same table.
 */
import type { Credentials } from '#providers/port.ts'
import { toUserToken } from './akahu/emulator.ts'
import { toEndUserId } from './fiskil/index.ts'
import { toCredentials } from './snaptrade/index.ts'

export type SandboxProvider = Credentials['provider']
export const sandboxProviders: readonly SandboxProvider[] = ['fiskil', 'akahu', 'snaptrade']

export interface MagicUser {
  readonly name: string
  readonly shows: string
  /** What is to be seen at each provider; null: there is no such person there. */
  readonly at: Readonly<Record<SandboxProvider, string | null>>
  /** What to type once the person is linked to see the state, and where; null: it shows at once everywhere. */
  readonly then: { readonly command: string; readonly at: readonly SandboxProvider[] } | null
}

const user = (
  name: string,
  shows: string,
  [fiskil, akahu, snaptrade]: readonly [string | null, string | null, string | null],
  then: MagicUser['then'] = null,
) => ({ name, shows, at: { fiskil, akahu, snaptrade }, then }) satisfies MagicUser

const unavailable = 'linked well; transactions and trades'

export const magicUsers = [
  user('healthy', 'nothing is wrong', [
    'two banks, seven accounts, eighteen months',
    'four logins, nine accounts, eighteen months',
    'a broker and a coin exchange, every kind of trade and position',
  ]),
  user('history', 'years of rows, more than 5,000 on one account', [
    '5,400 transactions',
    '5,400 transactions',
    '5,400 trades',
  ]),
  user('expired', 'the consent or login has run out: `invalidated`', [
    'consent past its end: no accounts, reads are 400 `upstream_bad_request`',
    'accounts INACTIVE: old rows are still served, balances are null',
    'connection disabled: old rows are still served',
  ]),
  user(
    'revoked',
    'the consent is withdrawn: `revoked`, reads are 400 `upstream_bad_request`',
    [
      'at once: a withdrawn consent is still listed there',
      'after the command: a withdrawn login is not listed, so there is nothing to link',
      'after the command: a withdrawn connection is not listed, so there is nothing to link',
    ],
    { command: 'sandbox consent revoke revoked', at: ['akahu', 'snaptrade'] },
  ),
  user(
    'mfa',
    'the login waits for a second factor: `pending_mfa`',
    ['after the command', 'after the command', 'after the command'],
    { command: 'sandbox login challenge mfa', at: sandboxProviders },
  ),
  user('slow', 'rows come late but right', [
    '1.5 s for each page',
    '1.5 s for each page',
    '1.5 s for each page and for holdings',
  ]),
  user('throttled', `${unavailable} are 503 with the provider’s own wait`, [
    '429 with `Retry-After: 17`',
    '429 with `Retry-After: 17`',
    '429 with `X-RateLimit-Reset: 17`; holdings too',
  ]),
  user('outage', `${unavailable} are 503; after three of them the breaker opens (transactions)`, [
    '500',
    '500',
    '500; holdings too',
  ]),
  user('malformed', 'a row that cannot be read: the request is 503, never a list without it', [
    'an amount with a comma, every fourth day',
    'an amount that is no number, every fourth day',
    'units in words every third day; a position without units',
  ]),
  user('pending', 'pending rows are left out, and appear once they post', [
    'a purchase every two hours, posted three hours later',
    'a purchase every two hours, posted three hours later',
    null,
  ]),
  user('foreign', 'currencies of other countries', [
    'USD, EUR and GBP accounts',
    'USD, AUD and GBP accounts, purchases converted',
    'USD, AUD and NZD in one account',
  ]),
  user('decimals', 'coins with no, three and four digits, every digit kept', [
    'JPY, KWD, BHD, and AUD finer than a cent',
    'JPY, KWD, BHD, and NZD finer than a cent',
    'JPY and KWD',
  ]),
  user('twins', 'identical rows that are two, not one', [
    'two equal purchases every third day, ids of their own',
    'two equal purchases every third day, ids of their own',
    'every trade twice: the second id ends in `-2`',
  ]),
  user('fractions', 'units with up to eighteen digits', [null, null, 'slices of shares and coins']),
  user('unpriced', 'holdings without price, cost or currency', [
    null,
    null,
    'three positions: no price, no cost, neither',
  ]),
  user('numbers', 'account numbers of every shape, masked to four characters or null', [
    'nine accounts',
    'eight accounts',
    'nine accounts',
  ]),
] as const satisfies readonly MagicUser[]

export type MagicName = (typeof magicUsers)[number]['name']

/** Null for a name that nobody has. */
function findMagicUser(name: string): (MagicUser & { readonly name: MagicName }) | null {
  return magicUsers.find((one) => one.name === name) ?? null
}

/** What links this person at each provider where they live. */
export function credentialsOf(name: MagicName): readonly Credentials[] {
  const person = findMagicUser(name)
  return sandboxProviders.flatMap((provider) =>
    person === null || person.at[provider] === null ? [] : [credentialsAt(provider, name)],
  )
}

function credentialsAt(provider: SandboxProvider, name: MagicName): Credentials {
  switch (provider) {
    case 'fiskil':
      return { provider, endUserId: toEndUserId(name) }
    case 'akahu':
      return { provider, userToken: toUserToken(name) }
    case 'snaptrade': {
      const { userId, userSecret } = toCredentials(name)
      return { provider, snaptradeUserId: userId, userSecret }
    }
  }
}

/** The flags of `tributary connections link U` that link with these credentials. */
function toLinkFlags(credentials: Credentials): string {
  switch (credentials.provider) {
    case 'fiskil':
      return `--provider fiskil --end-user-id ${credentials.endUserId}`
    case 'akahu':
      return `--provider akahu --user-token ${credentials.userToken}`
    case 'snaptrade':
      return `--provider snaptrade --snaptrade-user-id ${credentials.snaptradeUserId} --user-secret ${credentials.userSecret}`
  }
}

/** One row for each person at each provider, with what to type. */
export function listPeople() {
  return magicUsers.flatMap(({ name, shows, at, then }) =>
    credentialsOf(name).map((credentials) => ({
      person: name,
      provider: credentials.provider,
      shows,
      here: at[credentials.provider],
      link: credentials,
      flags: toLinkFlags(credentials),
      next: then?.at.includes(credentials.provider) ? `tributary ${then.command}` : null,
    })),
  )
}
