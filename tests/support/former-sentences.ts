/**
 * What the activity page said before entries had details: the sentences of that version, which read the words
 * of `subject`, to compare with those of today.
 */
import type { AuditAction } from '#contract/audit.ts'
import { foreignText } from '#doors/pages/html.ts'
import { factsOf, providerNames } from '#providers/all-facts.ts'

interface Names {
  connection(id: string): string | null
  key(id: string): string | null
  endpoint(id: string): string | null
  agent(clientId: string): string | null
}

/** @param words the subject of the entry, split at blanks. */
type Sentence = (words: readonly string[], names: Names) => string

const connectionOf = (id: string | undefined, names: Names) => {
  const name = names.connection(id ?? '')
  return name === null ? 'a connection that is gone' : `the connection to ${foreignText(name)}`
}
const keyOf = (id: string | undefined, names: Names) => {
  const name = names.key(id ?? '')
  return name === null ? 'an API key' : `the API key “${foreignText(name)}”`
}
const endpointOf = (id: string | undefined, names: Names) => {
  const name = names.endpoint(id ?? '')
  return name === null
    ? 'a webhook endpoint that is gone'
    : `the webhook endpoint ${foreignText(name)}`
}
/** The name stands behind the word `as`; entries of earlier versions have none. */
const agentOf = ([clientId = '', ...rest]: readonly string[], names: Names) => {
  const place = rest.indexOf('as')
  const written = place === -1 ? null : rest.slice(place + 1).join(' ')
  const name = written ?? names.agent(clientId)
  return name === null ? 'an agent' : `the agent ${foreignText(name)}`
}
const scopesOf = ([, ...rest]: readonly string[]) =>
  rest.includes('as') ? rest.slice(0, rest.indexOf('as')) : rest

/** A provider of another version is shown as it was written. */
const nameProvider = (text = '') => {
  const known = providerNames.find((name) => name === text)
  return known === undefined ? foreignText(text) : factsOf(known).name
}

const onConnection =
  (before: string, after: string): Sentence =>
  ([id], names) =>
    `${before} ${connectionOf(id, names)}${after}`
const onEndpoint =
  (before: string, after = ''): Sentence =>
  ([id], names) =>
    `${before} ${endpointOf(id, names)}${after}`
/** Actions that came later had facts from the beginning. */
export type FormerAction = Exclude<
  AuditAction,
  | `programs.${string}`
  | `consumers.${string}`
  | `account.${'add' | 'remove'}-passkey`
  | 'account.set-shows-balances'
  | 'connections.set-label'
  | 'keys.rotate'
>

const sentences: Readonly<Record<FormerAction, Sentence>> = {
  'account.signed-up': () => 'Created this account',
  'account.confirmed': () => 'Confirmed the e-mail address',
  'account.signed-in': () => 'Signed in',
  'account.signed-out': () => 'Signed out',
  'account.sign-in-refused': ([what]) => {
    if (what === 'code-missing') return 'Gave the right password, and was asked for the code'
    return `Gave a wrong ${what === 'code' ? 'code' : 'password'}, and was refused`
  },
  'account.asked-for-password': () => 'Asked for a link to choose a new password',
  'account.used-recovery-code': () => 'Used a recovery code to sign in',
  'account.end-session': () => 'Signed out one browser',
  'account.end-other-sessions': ([count]) =>
    count === '1' ? 'Signed out one other browser' : `Signed out ${count} other browsers`,
  'account.set-name': () => 'Changed the name',
  'account.set-timezone': ([zone]) => `Set the time zone to ${zone}`,
  'account.set-password': () => 'Changed the password, and signed out every other browser',
  'account.set-second-factor': () => 'Switched the second factor on',
  'account.remove-second-factor': () => 'Switched the second factor off',
  'account.set-recovery-codes': () => 'Created new recovery codes',
  'agent.connected': (words, names) =>
    `Allowed ${agentOf(words, names)} to read ${scopesOf(words).includes('brokerage:read') ? 'banks and brokers' : 'banks'}`,
  'agent.disconnected': (words, names) => `Disconnected ${agentOf(words, names)}`,
  'connections.start-linking': ([provider, id], names) =>
    id === undefined
      ? `Began to link an institution through ${nameProvider(provider)}`
      : `Began to renew ${connectionOf(id, names)}`,
  'connections.finish-linking': ([provider, ...reason]) =>
    reason[0] === 'agreed'
      ? `Agreed at ${nameProvider(provider)}`
      : `Linking through ${nameProvider(provider)} ended without a connection: ${reason.join(' ')}`,
  'connections.link': ([provider, ...ids], names) => {
    const known = ids.map((id) => names.connection(id)).filter((name) => name !== null)
    return known.length === 0
      ? `Linked institutions through ${nameProvider(provider)}`
      : `Linked ${known.map((name) => foreignText(name)).join(', ')}`
  },
  'connections.refresh': onConnection('Refreshed', ''),
  'connections.sync': onConnection('Asked for new data of', ''),
  'connections.remove': ([id = ''], names) =>
    `Removed ${names.connection(id) === null ? 'a connection' : connectionOf(id, names)}`,
  'keys.create': ([id], names) => `Created ${keyOf(id, names)}`,
  'keys.revoke': ([id], names) => `Revoked ${keyOf(id, names)}`,
  'plans.set': (words) => `Set the plan: ${words.join(', ')}`,
  'users.invite': () => 'Was invited',
  'users.withdraw-invitation': () => 'Withdrew an invitation',
  'users.remind': () => 'Asked by mail to reconnect',
  'users.create': () => 'Created this account',
  'users.delete': () => 'Deleted this account',
  'users.set-password': () => 'Set the password, and signed out every browser',
  'users.reset-second-factor': () => 'Removed the second factor',
  'webhooks.create': onEndpoint('Added'),
  'webhooks.disable': ([id, ...reason], names) =>
    `Disabled ${endpointOf(id, names)}${reason.length > 0 ? ` (${reason.join(' ')})` : ''}`,
  'webhooks.enable': onEndpoint('Enabled'),
  'webhooks.failing': ([id, ...since], names) =>
    `Found that ${endpointOf(id, names)} has been failing for ${since.join(' ')}`,
  'webhooks.remove': ([id = ''], names) =>
    `Removed ${names.endpoint(id) === null ? 'a webhook endpoint' : endpointOf(id, names)}`,
  'webhooks.replay': onEndpoint('Sent events again to'),
  'webhooks.rotate': onEndpoint('Replaced the secret of'),
  'webhooks.test': onEndpoint('Sent a test event to'),
}

export function describeSubject(action: FormerAction, subject: string, names: Names): string {
  return sentences[action](subject.split(' '), names)
}
