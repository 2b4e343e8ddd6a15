/**
 * The table of magic users: people with the same name at every provider who each show one state. It says what each
 * shows; the providers' folders define the people and their data. `docs/sandbox.md` has the same table.
 */
import type { Provider } from '#contract/resources.ts'
import { factsOf, providerNames } from '#providers/all-facts.ts'
import type { Credentials } from '#providers/port.ts'
import { emulators } from './emulators.ts'

export type SandboxProvider = Provider
export const sandboxProviders = providerNames

export interface MagicUser {
  readonly name: string
  readonly shows: string
  /** What is to be seen at each provider; null: there is no such person there. */
  readonly at: Readonly<Record<SandboxProvider, string | null>>
  /** What to type once the person is linked to see the state, and where; null: it shows at once everywhere. */
  readonly after: { readonly command: string; readonly at: readonly SandboxProvider[] } | null
}

/** How a cell begins that shows its state only once the command was given. */
const later = 'after the command'

/** What each provider shows, in the order of `sandboxProviders`. */
const user = (
  name: string,
  shows: string,
  shown: readonly (string | null)[],
  command: string | null = null,
): MagicUser => {
  const cells = sandboxProviders.map((provider, index) => [provider, shown[index] ?? null] as const)
  const waiting = cells.filter(([, text]) => text?.startsWith(later))
  return {
    name,
    shows,
    at: Object.fromEntries(cells) as MagicUser['at'],
    after: command === null ? null : { command, at: waiting.map(([provider]) => provider) },
  }
}

const unavailable = 'linked without a failure; transactions and trades'

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
      `${later}: a withdrawn login is not listed, so there is nothing to link`,
      `${later}: a withdrawn connection is not listed, so there is nothing to link`,
    ],
    'sandbox consent revoke revoked',
  ),
  user(
    'mfa',
    'the login waits for a second factor: `pending_mfa`',
    [later, later, later],
    'sandbox login challenge mfa',
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

/** Null for an unknown name. */
function findMagicUser(name: string): (MagicUser & { readonly name: MagicName }) | null {
  return magicUsers.find((one) => one.name === name) ?? null
}

/** What links this person at each provider where they live. */
export function credentialsOf(name: MagicName): readonly Credentials[] {
  const person = findMagicUser(name)
  return sandboxProviders.flatMap((provider) =>
    person === null || person.at[provider] === null ? [] : [emulators[provider].link(name)],
  )
}

/** The flags of `tributary connections link U` that link with these credentials. */
function toLinkFlags(credentials: Credentials): string {
  const { provider, ...fields } = credentials
  const given = new Map(Object.entries(fields))
  const flags = Object.entries(factsOf(provider).linkFields)
  return [
    `--provider ${provider}`,
    ...flags.map(([field, { flag }]) => `--${flag} ${given.get(field)}`),
  ].join(' ')
}

/** One row for each person at each provider, with what to type. */
export function listPeople() {
  return magicUsers.flatMap(({ name, shows, at, after }) =>
    credentialsOf(name).map((credentials) => ({
      person: name,
      provider: credentials.provider,
      shows,
      here: at[credentials.provider],
      link: credentials,
      flags: toLinkFlags(credentials),
      next: after?.at.includes(credentials.provider) ? `tributary ${after.command}` : null,
    })),
  )
}
