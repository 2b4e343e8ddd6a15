/**
 * The steps of a setup against the admin API: the user, the links, the key. Each is skipped where it is done
 * already.
 */

import { factsOf } from '#providers/all-facts.ts'
import { readMachineZone } from '../config.ts'
import { Refusal, withoutPrefix } from '../server.ts'
import { chooseRequest } from './first-request.ts'
import type { Collected, PersonalKeys } from './personal-keys.ts'
import type { Written } from './settings-file.ts'
import type { SetupAdmin } from './setup-admin.ts'
import type { ReportedAccount, ReportedConnection, SetUpResult, User } from './setup-report.ts'

export interface Arrangement {
  readonly email: string
  /** Null: that of the machine. */
  readonly timezone: string | null
  readonly collected: Collected
  readonly admin: SetupAdmin
  /** The service runs and does not know what was asked for just now. */
  readonly isRunning: boolean
  /**
   * The keys with what a person gives in place of what was refused for this reason; null: nothing. @throws
   * Refusal
   */
  readonly askAgain: (keys: PersonalKeys, reason: string) => Promise<PersonalKeys | null>
  /** Adds what the service needs to its settings, what these keys need included. @throws Refusal */
  readonly writeSettings: (accepted: readonly PersonalKeys[]) => Promise<Written | null>
  /**
   * Variables that the service needs too, and has from the environment of this process alone; null: what
   * starts the service sets them.
   */
  readonly fromEnvironment: readonly string[] | null
  /** A variable with the place that it was read from; empty: it was typed or sent. */
  readonly nameSource: (variable: string) => readonly string[]
  /** Token variables in `.env`, which only setup reads. */
  readonly leftInFile: readonly string[]
}

/**
 * @throws Refusal when the user or the key cannot be made; links that are refused are part of the outcome.
 */
export async function arrange(given: Arrangement): Promise<SetUpResult> {
  const { admin, collected } = given
  const { user, isNew } = await ensureUser(given)
  const before = new Set((await listConnections(admin, user)).map(({ id }) => id))
  const refused: string[] = []
  const accepted: PersonalKeys[] = []
  for (const keys of collected.keys) {
    const result = await linkOrAsk(given, user, keys)
    if (typeof result === 'string') refused.push(result)
    else accepted.push(result)
  }
  // What was refused is not kept: the next run asks for it again. What was linked is kept before the key is
  // shown.
  const written = await given.writeSettings(accepted)
  const failures = [...collected.problems, ...refused]
  const connections = await listConnections(admin, user)
  // A first run in which nothing could be linked is repeated: its key would be of no use until then.
  const isWorthwhile = connections.length > 0 || failures.length === 0
  const key = isWorthwhile ? await ensureKey(admin, user) : null
  const linked = new Set(connections.map(({ provider }) => provider))
  const accounts = await listAccounts(admin, user)
  const firstRequest =
    key === null
      ? null
      : await chooseRequest({ connections, accounts }, (path) =>
          admin.read(path, { userId: user.id, key }),
        )
  return {
    ...{ user, isNew, key, connections, failures },
    added: connections.filter(({ id }) => !before.has(id)),
    accounts,
    firstRequest,
    notes: [
      ...collected.notes.flatMap(({ provider, text }) => (linked.has(provider) ? [] : [text])),
      ...given.leftInFile
        .filter((name) => accepted.some(({ held }) => held.has(name)))
        .map((name) => `${name} is sealed in the store; the line in .env is no longer needed`),
      ...listByBrowser(accepted, linked, user.email),
      ...describeZone(given, user),
    ],
    written,
    fromEnvironment: given.fromEnvironment,
    isRunning: given.isRunning,
    baseUrl: admin.baseUrl,
    storeDir: admin.storeDir,
  }
}

function listByBrowser(
  accepted: readonly PersonalKeys[],
  linked: ReadonlySet<string>,
  email: string,
): string[] {
  return accepted.flatMap(({ provider, name }) => {
    if (factsOf(provider).personal?.isByBrowser !== true || linked.has(provider)) return []
    return [
      `${name}: the keys are accepted. Set a password (\`tributary users set-password ${email} --password -\`), start the service, sign in and open /connections/new: the bank’s own page asks for the consent`,
    ]
  })
}

/** The zone of an owner who was there already is left as it is. */
function describeZone({ timezone }: Arrangement, user: User): string[] {
  if (timezone === null || timezone === user.timezone) return []
  return [`--timezone is for a new owner; this one keeps ${user.timezone ?? 'no time zone'}`]
}

const pathOf = (user: string) => `/admin/users/${encodeURIComponent(user)}`

async function ensureUser(given: Arrangement): Promise<{ user: User; isNew: boolean }> {
  const { admin, email } = given
  const found = await findOwner(admin, email)
  if (found !== null) return { user: found, isNew: false }
  const timezone = given.timezone ?? demandMachineZone()
  // The owner has access, whatever the plan of others is.
  const body = { email, timezone, plan: 'professional' }
  try {
    const made = await admin.ask({ method: 'POST', path: '/admin/users', body })
    return { user: toUser(made), isNew: true }
  } catch (error) {
    // Another setup made the user in this moment.
    if (!(error instanceof Refusal) || error.envelope.error.code !== 'email_taken') throw error
    const user = await findUser(admin, email)
    if (user === null) throw error
    return { user, isNew: false }
  }
}

/**
 * The user of this address; null while there is no user at all. A mistyped address must not become a second
 * owner, whose keys the first one then cannot use. @throws Refusal
 */
export async function findOwner(admin: SetupAdmin, email: string): Promise<User | null> {
  const found = await findUser(admin, email)
  if (found !== null) return found
  const answer = await admin.ask({ method: 'GET', path: '/admin/users?limit=2', body: null })
  const [first, second] = (answer as { readonly data: readonly { readonly email: string }[] }).data
  if (first === undefined) return null
  const there = second === undefined ? `${first.email} is the owner` : 'there are users'
  const message = `${email} is no user here, and ${there} already: correct the address, or make a further user with \`tributary users create --email ${email}\` while the service runs, and run setup again. Nothing was linked or stored`
  throw new Refusal({ error: { message } })
}

/** @throws Refusal when the machine has none: a `TZ` that names no zone. */
function demandMachineZone(): string {
  const zone = readMachineZone()
  if (zone !== null) return zone
  const message =
    'TZ names no IANA time zone; set it to one such as Australia/Sydney, unset it, or give --timezone'
  throw new Refusal({ error: { message } })
}

async function findUser(admin: SetupAdmin, email: string): Promise<User | null> {
  try {
    return toUser(await admin.ask({ method: 'GET', path: pathOf(email), body: null }))
  } catch (error) {
    if (error instanceof Refusal && error.status === 404) return null
    throw error
  }
}

function toUser(answer: unknown): User {
  const { id, email, timezone, plan } = answer as User
  return { id, email, timezone, plan }
}

const maxAttempts = 3
/** Errors that mean the key itself. */
const keyErrors: ReadonlySet<unknown> = new Set(['upstream_bad_request', 'provider_refuses_us'])

/** The keys with which it is linked, or why it is not and what to do, as one line. */
async function linkOrAsk(
  given: Arrangement,
  user: User,
  first: PersonalKeys,
): Promise<PersonalKeys | string> {
  let keys = first
  for (let attempt = 1; ; attempt += 1) {
    const refusal = await link(given, user, keys)
    if (refusal === null) return keys
    const isAsked = attempt < maxAttempts && keyErrors.has(refusal.envelope.error.code)
    const next = isAsked ? await given.askAgain(keys, toReason(keys, refusal)) : null
    if (next !== null) await given.admin.renew()
    else {
      const sources = [...keys.held.keys()].flatMap(given.nameSource)
      return `${keys.name} is not linked: ${describeRefusal(keys, refusal, sources)}`
    }
    keys = next
  }
}

/** Null when it is linked. */
async function link(
  { admin, isRunning }: Arrangement,
  user: User,
  keys: PersonalKeys,
): Promise<Refusal | null> {
  // A service that runs has read its variables before; without them the person's key goes with the link.
  const { isByBrowser = false } = factsOf(keys.provider).personal ?? {}
  const fields = { ...keys.tokens, ...(isRunning || isByBrowser ? keys.own : {}) }
  const body = { provider: keys.provider, ...fields }
  try {
    await admin.ask({ method: 'POST', path: `${pathOf(user.id)}/connections`, body })
    return null
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    // The keys were accepted, and nothing can be linked without a browser.
    const { code, message } = error.envelope.error
    const isAccepted = isByBrowser && code === 'invalid_params' && message?.startsWith('Nothing to')
    return isAccepted ? null : error
  }
}

/** @param sources where each key that was read from a file or the environment is to be replaced. */
function describeRefusal(keys: PersonalKeys, refusal: Refusal, sources: readonly string[]): string {
  const reason = toReason(keys, refusal)
  if (refusal.envelope.error.code === 'login_taken') return reason
  const place = sources.length === 0 ? '' : `; where a key is wrong, replace ${sources.join(', ')}`
  return `${reason}${place}; then run setup again`
}

/** What the provider says, without what the operator of a server would do and without a full stop. */
function toReason({ name, provider }: PersonalKeys, { envelope }: Refusal): string {
  const { code, message, details = [] } = envelope.error
  const said = details.map((text) => text.replace(`${provider}: `, ''))
  if (code === 'provider_refuses_us') return `${name} refuses this key (${said.join('; ')})`
  return [withoutPrefix(message), ...said].map((text) => text.replace(/[.;]$/, '')).join('; ')
}

async function ensureKey(admin: SetupAdmin, user: User): Promise<string | null> {
  const path = `${pathOf(user.id)}/keys`
  const { data } = (await admin.ask({ method: 'GET', path, body: null })) as {
    readonly data: readonly { readonly status: string }[]
  }
  if (data.some(({ status }) => status === 'active')) return null
  const made = await admin.ask({ method: 'POST', path, body: { name: 'setup' } })
  return (made as { readonly key: string }).key
}

async function listConnections(
  admin: SetupAdmin,
  { id }: User,
): Promise<readonly ReportedConnection[]> {
  const answer = await admin.ask({ method: 'GET', path: `${pathOf(id)}/connections`, body: null })
  return (answer as { readonly data: readonly ReportedConnection[] }).data
}

async function listAccounts(admin: SetupAdmin, { id }: User): Promise<readonly ReportedAccount[]> {
  const answer = await admin.ask({ method: 'GET', path: `${pathOf(id)}/accounts`, body: null })
  return (answer as { readonly data: readonly ReportedAccount[] }).data
}
