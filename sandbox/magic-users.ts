/**
 * The table of magic users: people with the same name at every provider who each show one state. The
 * providers' folders say what is to be seen there (`shows.ts`) and define the people and their data.
 * `docs/sandbox.md` has the same table.
 */
import type { Provider } from '#contract/resources.ts'
import { factsOf, providerNames } from '#providers/all-facts.ts'
import type { Credentials } from '#providers/credentials.ts'
import { emulators } from './emulators.ts'
import { later } from './shows.ts'

export type SandboxProvider = Provider
export const sandboxProviders = providerNames

export interface MagicUser {
  readonly name: string
  readonly shows: string
  /** What is to be seen at each provider; null: there is no such person there. */
  readonly at: Readonly<Record<SandboxProvider, string | null>>
  /**
   * What to type once the person is linked to see the state, and where; null: it shows at once everywhere.
   */
  readonly after: { readonly command: string; readonly at: readonly SandboxProvider[] } | null
}

/** A name, and what it shows; which providers have the person stands in their own tables. */
const user = <const Name extends string>(
  name: Name,
  shows: string,
  command: string | null = null,
): MagicUser & { readonly name: Name } => {
  const cells = sandboxProviders.map(
    (provider) => [provider, emulators[provider].shows[name] ?? null] as const,
  )
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
  user('healthy', 'nothing is wrong'),
  user('history', 'years of rows, more than 5,000 on one account'),
  user('personal', 'a key of the person’s own takes the place of the installation’s'),
  user('expired', 'the consent or login has run out: `invalidated`'),
  user(
    'revoked',
    'the consent is withdrawn: `revoked`, reads are 400 `upstream_bad_request`',
    'sandbox consent revoke revoked',
  ),
  user('mfa', 'the login waits for a second factor: `pending_mfa`', 'sandbox login challenge mfa'),
  user('slow', 'rows come late but right'),
  user('throttled', `${unavailable} are 503 with the provider’s own wait`),
  user('outage', `${unavailable} are 503; after three of them the breaker opens (transactions)`),
  user('malformed', 'a row that cannot be read: the request is 503, never a list without it'),
  user('pending', 'pending rows, shown with `includePending` only, and appear once they post'),
  user('foreign', 'currencies of other countries'),
  user('decimals', 'coins with no, three and four digits, every digit kept'),
  user('twins', 'identical rows that are two, not one'),
  user('fractions', 'units with up to eighteen digits'),
  user('unpriced', 'holdings without price, cost or currency'),
  user('numbers', 'account numbers of every shape, masked to four characters or null'),
  user('joint', 'one account under two logins, the same ids'),
  user('reissued', 'the provider gives its rows new ids at every read: ours stay'),
  user('positional', 'the provider’s ids move when a row is inserted: ours stay'),
  user('period', 'a period that the bank refuses is narrowed once'),
] as const satisfies readonly MagicUser[]

export type MagicName = (typeof magicUsers)[number]['name']

/** Null for an unknown name. */
function findMagicUser(name: string): (MagicUser & { readonly name: MagicName }) | null {
  return magicUsers.find((one) => one.name === name) ?? null
}

/** Where each emulator is; null: it does not run. */
type Reached = Readonly<Record<SandboxProvider, { readonly baseUrl: string } | null>>

/** What links this person at each provider where they live. */
export function credentialsOf(name: MagicName, access: Reached): readonly Credentials[] {
  const person = findMagicUser(name)
  return sandboxProviders.flatMap((provider) => {
    const own = access[provider]
    if (person === null || person.at[provider] === null || own === null) return []
    return [emulators[provider].link(name, own)]
  })
}

/** The flags of `tributary connections link U` that link with these credentials. */
function toLinkFlags(credentials: Credentials): string {
  const { provider, ...fields } = credentials
  const given = new Map(Object.entries(fields))
  const flags = Object.entries(factsOf(provider).linkFields)
  return [
    `--provider ${provider}`,
    ...flags.flatMap(([field, { flag }]) => {
      const value = given.get(field)
      return value === undefined ? [] : [`--${flag} ${value}`]
    }),
  ].join(' ')
}

/** Two people of one household. */
const household: readonly MagicName[] = ['healthy', 'history']

/** What to type to link people with keys of their own, where a provider gives people such keys. */
export function listOwnKeys() {
  return sandboxProviders.flatMap((provider) => {
    const { linkPersonally } = emulators[provider]
    if (linkPersonally === undefined) return []
    return household.map((person) => {
      const link = linkPersonally(person)
      return { person, provider, link, flags: toLinkFlags(link) }
    })
  })
}

/** One row for each person at each provider, with what to type. */
export function listPeople(access: Reached) {
  return magicUsers.flatMap(({ name, shows, at, after }) =>
    credentialsOf(name, access).map((credentials) => ({
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
