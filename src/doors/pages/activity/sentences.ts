/**
 * What each entry of the audit says, as a plain sentence. The table is complete: the compiler names an action
 * without a sentence. An action of another version is shown as it was written.
 */

import type { AuditAction, AuditDetails, AuditFacts } from '#contract/audit.ts'
import { factsOf, providerNames } from '#providers/all-facts.ts'
import type { AuditRow } from '#store/ports/audit.ts'
import { foreignText } from '../html.ts'

/** The names of what entries are about, as long as it exists; null: it is gone. */
export interface Names {
  connection(id: string): string | null
  key(id: string): string | null
  endpoint(id: string): string | null
  program(id: string): string | null
  agent(clientId: string): string | null
}

type Sentences = {
  readonly [Action in AuditAction]: (details: AuditDetails[Action], names: Names) => string
}

const connectionOf = (id: string, names: Names) => {
  const name = names.connection(id)
  return name === null ? 'a connection that is gone' : `the connection to ${foreignText(name)}`
}
const keyOf = (id: string, names: Names) => {
  const name = names.key(id)
  return name === null ? 'an API key' : `the API key “${foreignText(name)}”`
}
const endpointOf = (id: string, names: Names) => {
  const name = names.endpoint(id)
  return name === null
    ? 'a webhook endpoint that is gone'
    : `the webhook endpoint ${foreignText(name)}`
}
const programOf = (id: string, names: Names) => {
  const name = names.program(id)
  return name === null ? 'a program' : `the program “${foreignText(name)}”`
}
const agentOf = (
  { clientId, clientName }: { readonly clientId: string; readonly clientName: string | null },
  names: Names,
) => {
  const name = clientName ?? names.agent(clientId)
  return name === null ? 'an agent' : `the agent ${foreignText(name)}`
}

/** A provider of another version is shown as it was written. */
const nameProvider = (text: string) => {
  const known = providerNames.find((name) => name === text)
  return known === undefined ? foreignText(text) : factsOf(known).name
}

const onEndpoint =
  (before: string) =>
  ({ endpointId }: { readonly endpointId: string }, names: Names) =>
    `${before} ${endpointOf(endpointId, names)}`

const sentences: Sentences = {
  'account.signed-up': () => 'Created this account',
  'account.confirmed': () => 'Confirmed the e-mail address',
  'account.signed-in': ({ passkey = false }) =>
    passkey ? 'Signed in with a passkey' : 'Signed in',
  'account.signed-out': () => 'Signed out',
  'account.sign-in-refused': ({ refused }) => {
    if (refused === 'code-missing') return 'Gave the right password, and was asked for the code'
    if (refused === 'passkey') return 'Gave a passkey that is not right, and was refused'
    return `Gave a wrong ${refused === 'code' ? 'code' : 'password'}, and was refused`
  },
  'account.asked-for-password': () => 'Asked for a link to choose a new password',
  'account.used-recovery-code': () => 'Used a recovery code to sign in',
  'account.end-session': () => 'Signed out one browser',
  'account.end-other-sessions': ({ count }) =>
    count === 1 ? 'Signed out one other browser' : `Signed out ${count} other browsers`,
  'account.set-name': () => 'Changed the name',
  'account.set-timezone': ({ timezone }) => `Set the time zone to ${timezone}`,
  'account.set-password': () => 'Changed the password, and signed out every other browser',
  'account.add-passkey': () => 'Added a passkey',
  'account.remove-passkey': () => 'Removed a passkey',
  'account.set-second-factor': () => 'Switched the second factor on',
  'account.set-shows-balances': ({ showsBalances }) =>
    showsBalances ? 'Chose to see balances at once' : 'Chose to see balances after a press',
  'account.remove-second-factor': () => 'Switched the second factor off',
  'account.set-recovery-codes': () => 'Created new recovery codes',
  'agent.connected': (agent, names) =>
    `Allowed ${agentOf(agent, names)} to read ${agent.scopes.includes('brokerage:read') ? 'banks and brokers' : 'banks'}`,
  'agent.disconnected': (agent, names) => `Disconnected ${agentOf(agent, names)}`,
  'connections.start-linking': ({ provider, renews }, names) =>
    renews === null
      ? `Began to link an institution through ${nameProvider(provider)}`
      : `Began to renew ${connectionOf(renews, names)}`,
  'connections.finish-linking': ({ provider, outcome }) =>
    outcome === 'agreed'
      ? `Agreed at ${nameProvider(provider)}`
      : `Linking through ${nameProvider(provider)} ended without a connection: ${outcome}`,
  'connections.link': ({ provider, connectionIds }, names) => {
    const known = connectionIds.map((id) => names.connection(id)).filter((name) => name !== null)
    return known.length === 0
      ? `Linked institutions through ${nameProvider(provider)}`
      : `Linked ${known.map((name) => foreignText(name)).join(', ')}`
  },
  'connections.refresh': ({ connectionId }, names) =>
    `Refreshed ${connectionOf(connectionId, names)}`,
  'connections.set-label': ({ connectionId }, names) =>
    `Named ${connectionOf(connectionId, names)}`,
  'connections.sync': ({ connectionId }, names) =>
    `Asked for new data of ${connectionOf(connectionId, names)}`,
  'connections.remove': ({ connectionId: id }, names) =>
    `Removed ${names.connection(id) === null ? 'a connection' : connectionOf(id, names)}`,
  'keys.create': ({ keyId }, names) => `Created ${keyOf(keyId, names)}`,
  'keys.revoke': ({ keyId }, names) => `Revoked ${keyOf(keyId, names)}`,
  'keys.rotate': ({ keyId }, names) => `Gave ${keyOf(keyId, names)} a new secret`,
  'programs.claim': ({ programId }, names) =>
    `Gave ${programOf(programId, names)} access by its setup token`,
  'programs.create': ({ programId }, names) =>
    `Created a setup token for ${programOf(programId, names)}`,
  'programs.repeat': ({ programId }, names) =>
    `Presented the spent setup token of ${programOf(programId, names)}, and was refused`,
  'programs.revoke': ({ programId }, names) => `Ended the access of ${programOf(programId, names)}`,
  'plans.set': ({ plan, status }) => `Set the plan: ${plan}, ${status}`,
  'users.invite': () => 'Was invited',
  'users.withdraw-invitation': () => 'Withdrew an invitation',
  'users.remind': () => 'Asked by mail to reconnect',
  'users.create': () => 'Created this account',
  'users.delete': () => 'Deleted this account',
  'users.set-password': () => 'Set the password, and signed out every browser',
  'users.reset-second-factor': () => 'Removed the second factor',
  'consumers.create': () => 'Began to keep events for a consumer that fetches them',
  'consumers.remove': () => 'Removed a consumer that fetches events',
  'webhooks.create': onEndpoint('Added'),
  'webhooks.disable': ({ endpointId, reason }, names) =>
    `Disabled ${endpointOf(endpointId, names)}${reason === 'owner' ? '' : ` (${reason})`}`,
  'webhooks.enable': onEndpoint('Enabled'),
  'webhooks.failing': ({ endpointId, days }, names) =>
    `Found that ${endpointOf(endpointId, names)} has been failing for ${days} days`,
  'webhooks.remove': ({ endpointId: id }, names) =>
    `Removed ${names.endpoint(id) === null ? 'a webhook endpoint' : endpointOf(id, names)}`,
  'webhooks.replay': onEndpoint('Sent events again to'),
  'webhooks.rotate': onEndpoint('Replaced the secret of'),
  'webhooks.test': onEndpoint('Sent a test event to'),
}

export function describeEntry({ action, subject, facts }: AuditRow, names: Names): string {
  return facts === null ? foreignText(`${action}: ${subject}`) : describeFacts(facts, names)
}

function describeFacts<Action extends AuditAction>(
  { action, details }: AuditFacts<Action>,
  names: Names,
): string {
  return sentences[action](details, names)
}

/** Actions attributed to the user although no session existed yet. */
const ownActions: readonly string[] = [
  'account.signed-up',
  'account.confirmed',
  'account.signed-in',
  'account.used-recovery-code',
  'account.set-password',
  'users.create',
]

/** Who acted. A sign-in is recorded with the address alone, because no session existed yet. */
export function describeActor({ actor, action }: AuditRow): string {
  if (actor === 'user') return 'You'
  if (actor === 'admin') return 'The operator'
  if (actor === 'system') return 'The service'
  return ownActions.includes(action) ? 'You' : 'Somebody'
}

/** The network address that it came from; null: none is known. */
export function addressOfEntry({ actor, address }: AuditRow): string | null {
  if (address !== null) return address
  // Entries of earlier versions have the address of a sign-in in the place of the name.
  return ['user', 'admin', 'system'].includes(actor) ? null : foreignText(actor)
}
