/**
 * An entry of each action of the audit: its details, the text of `subject` as every version has written it,
 * and what the activity page says. The compiler names an action without a row.
 */
import type { AuditAction, AuditDetails, AuditFacts } from '#contract/audit.ts'
import type { UserId } from '#kernel/ids.ts'

export interface AuditSample<Action extends AuditAction = AuditAction> {
  readonly details: AuditDetails[Action]
  readonly subject: string
  readonly sentence: string
}

export const sampleUser = 'a0000000-0000-4000-8000-000000000001' as UserId
const connectionId = 'c0000000-0000-4000-8000-000000000002'
const goneId = 'c0000000-0000-4000-8000-000000000003'
const keyId = 'b0000000-0000-4000-8000-000000000004'
const programId = 'd0000000-0000-4000-8000-000000000006'
const endpointId = 'e0000000-0000-4000-8000-000000000005'
const clientId = 'https://agent.example/client'

/** What still exists, for the sentences. */
export const sampleNames = {
  connection: (id: string) => (id === connectionId ? 'Wattle Bank' : null),
  key: (id: string) => (id === keyId ? 'budget' : null),
  endpoint: (id: string) => (id === endpointId ? 'hooks.example' : null),
  program: (id: string) => (id === programId ? 'Actual Budget' : null),
  agent: (id: string) => (id === clientId ? 'Claude as it is called now' : null),
}

const onProgram = (sentence: string) => ({ details: { programId }, subject: programId, sentence })

export const auditSamples: { readonly [Action in AuditAction]: AuditSample<Action> } = {
  'programs.claim': onProgram('Gave the program “Actual Budget” access by its setup token'),
  'programs.create': onProgram('Created a setup token for the program “Actual Budget”'),
  'programs.repeat': onProgram(
    'Presented the spent setup token of the program “Actual Budget”, and was refused',
  ),
  'programs.revoke': onProgram('Ended the access of the program “Actual Budget”'),
  'account.add-passkey': {
    details: { passkeyId: goneId },
    subject: goneId,
    sentence: 'Added a passkey',
  },
  'account.remove-passkey': {
    details: { passkeyId: goneId },
    subject: goneId,
    sentence: 'Removed a passkey',
  },
  'account.asked-for-password': onAccount('Asked for a link to choose a new password'),
  'account.confirmed': onAccount('Confirmed the e-mail address'),
  'account.end-other-sessions': {
    details: { count: 3 },
    subject: '3',
    sentence: 'Signed out 3 other browsers',
  },
  'account.end-session': {
    details: { sessionId: goneId },
    subject: goneId,
    sentence: 'Signed out one browser',
  },
  'account.remove-second-factor': onAccount('Switched the second factor off'),
  'account.set-name': onAccount('Changed the name'),
  'account.set-password': onAccount('Changed the password, and signed out every other browser'),
  'account.set-recovery-codes': onAccount('Created new recovery codes'),
  'account.set-second-factor': onAccount('Switched the second factor on'),
  'account.set-timezone': {
    details: { timezone: 'Pacific/Auckland' },
    subject: 'Pacific/Auckland',
    sentence: 'Set the time zone to Pacific/Auckland',
  },
  'account.set-shows-balances': {
    details: { showsBalances: true },
    subject: 'true',
    sentence: 'Chose to see balances at once',
  },
  'account.sign-in-refused': {
    details: { refused: 'code-missing' },
    subject: 'code-missing',
    sentence: 'Gave the right password, and was asked for the code',
  },
  'account.signed-in': onAccount('Signed in'),
  'account.signed-out': onAccount('Signed out'),
  'account.signed-up': onAccount('Created this account'),
  'account.used-recovery-code': onAccount('Used a recovery code to sign in'),
  'agent.connected': {
    details: { clientId, scopes: ['mcp:read', 'brokerage:read'], clientName: 'Claude as a  test' },
    subject: `${clientId} mcp:read brokerage:read as Claude as a  test`,
    sentence: 'Allowed the agent Claude as a  test to read banks and brokers',
  },
  'agent.disconnected': {
    details: { clientId, clientName: null },
    subject: clientId,
    sentence: 'Disconnected the agent Claude as it is called now',
  },
  'connections.finish-linking': {
    details: { provider: 'fiskil', outcome: 'sign_in_refused' },
    subject: 'fiskil sign_in_refused',
    sentence: 'Linking through Fiskil ended without a connection: sign_in_refused',
  },
  'connections.link': {
    details: { provider: 'akahu', connectionIds: [goneId, connectionId] },
    subject: `akahu ${goneId} ${connectionId}`,
    sentence: 'Linked Wattle Bank',
  },
  'connections.refresh': {
    details: { connectionId },
    subject: connectionId,
    sentence: 'Refreshed the connection to Wattle Bank',
  },
  'connections.set-label': {
    details: { connectionId },
    subject: connectionId,
    sentence: 'Named the connection to Wattle Bank',
  },
  'connections.remove': {
    details: { connectionId: goneId, endsAtProvider: true },
    subject: `${goneId} at-provider`,
    sentence: 'Removed a connection',
  },
  'connections.start-linking': {
    details: { provider: 'fiskil', renews: connectionId },
    subject: `fiskil ${connectionId}`,
    sentence: 'Began to renew the connection to Wattle Bank',
  },
  'connections.sync': {
    details: { connectionId: goneId },
    subject: goneId,
    sentence: 'Asked for new data of a connection that is gone',
  },
  'keys.create': {
    details: { keyId },
    subject: keyId,
    sentence: 'Created the API key “budget”',
  },
  'keys.revoke': { details: { keyId: goneId }, subject: goneId, sentence: 'Revoked an API key' },
  'keys.rotate': {
    details: { keyId },
    subject: keyId,
    sentence: 'Gave the API key “budget” a new secret',
  },
  'plans.set': {
    details: { plan: 'professional', status: 'past_due' },
    subject: 'professional past_due',
    sentence: 'Set the plan: professional, past_due',
  },
  'users.create': { details: {}, subject: sampleUser, sentence: 'Created this account' },
  'users.delete': { details: {}, subject: sampleUser, sentence: 'Deleted this account' },
  'users.invite': { details: {}, subject: 'invitation', sentence: 'Was invited' },
  'users.remind': { details: {}, subject: sampleUser, sentence: 'Asked by mail to reconnect' },
  'users.withdraw-invitation': {
    details: {},
    subject: 'invitation',
    sentence: 'Withdrew an invitation',
  },
  'users.reset-second-factor': {
    details: {},
    subject: sampleUser,
    sentence: 'Removed the second factor',
  },
  'users.set-password': {
    details: {},
    subject: sampleUser,
    sentence: 'Set the password, and signed out every browser',
  },
  'consumers.create': {
    details: { consumerId: goneId },
    subject: goneId,
    sentence: 'Began to keep events for a consumer that fetches them',
  },
  'consumers.remove': {
    details: { consumerId: goneId },
    subject: goneId,
    sentence: 'Removed a consumer that fetches events',
  },
  'webhooks.create': onEndpoint('Added the webhook endpoint hooks.example'),
  'webhooks.disable': {
    details: { endpointId, reason: 'failing' },
    subject: `${endpointId} failing`,
    sentence: 'Disabled the webhook endpoint hooks.example (failing)',
  },
  'webhooks.enable': onEndpoint('Enabled the webhook endpoint hooks.example'),
  'webhooks.failing': {
    details: { endpointId: goneId, days: 3 },
    subject: `${goneId} 3 days`,
    sentence: 'Found that a webhook endpoint that is gone has been failing for 3 days',
  },
  'webhooks.remove': {
    details: { endpointId: goneId },
    subject: goneId,
    sentence: 'Removed a webhook endpoint',
  },
  'webhooks.replay': onEndpoint('Sent events again to the webhook endpoint hooks.example'),
  'webhooks.rotate': onEndpoint('Replaced the secret of the webhook endpoint hooks.example'),
  'webhooks.test': onEndpoint('Sent a test event to the webhook endpoint hooks.example'),
}

function onAccount(sentence: string) {
  return { details: {}, subject: 'account', sentence }
}

function onEndpoint(sentence: string) {
  return { details: { endpointId }, subject: endpointId, sentence }
}

/** What an entry of this action says. */
export function factsFor(action: AuditAction): AuditFacts {
  return { action, details: auditSamples[action].details } as AuditFacts
}
