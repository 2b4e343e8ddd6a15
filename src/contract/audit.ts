/**
 * What the audit records: one row per action with its `details`, the facts of an entry, and with the text of
 * `subject`, which the admin API answers. Ids, names and numbers only, never a secret and never money data.
 * What an extension of the admin API records (the sandbox's commands) is not in this table.
 */
import { z } from 'zod'
import type { UserId } from '#kernel/ids.ts'

/** A refused sign-in: the only action that unauthenticated visitors cause. */
export const refusedSignIn = 'account.sign-in-refused'
/** A session was started with the right password, or with a passkey. */
export const signedIn = 'account.signed-in'
/** A session was ended by its user, or by another user who signed in in the same browser. */
export const signedOut = 'account.signed-out'
/** A recovery code stood in for the code of a second factor. */
export const usedRecoveryCode = 'account.used-recovery-code'

interface ActionFacts<Details> {
  readonly details: z.ZodType<Details>
  readonly toSubject: (details: Details, userId: UserId | null) => string
}

function facts<Shape extends z.ZodRawShape>(
  shape: Shape,
  toSubject: ActionFacts<z.output<z.ZodObject<Shape>>>['toSubject'],
): ActionFacts<z.output<z.ZodObject<Shape>>> {
  return { details: z.object(shape), toSubject }
}

/** Also for providers, plans, scopes and reasons: a later version may add to them. */
const text = z.string()

const onAccount = facts({}, () => 'account')
const onUser = facts({}, (_, userId) => userId ?? '')
const onKey = facts({ keyId: text }, ({ keyId }) => keyId)
const onPasskey = facts({ passkeyId: text }, ({ passkeyId }) => passkeyId)
const onProgram = facts({ programId: text }, ({ programId }) => programId)
const onConnection = facts({ connectionId: text }, ({ connectionId }) => connectionId)
const onConsumer = facts({ consumerId: text }, ({ consumerId }) => consumerId)
const onEndpoint = facts({ endpointId: text }, ({ endpointId }) => endpointId)

const table = {
  'account.add-passkey': onPasskey,
  'account.asked-for-password': onAccount,
  'account.confirmed': onAccount,
  'account.end-other-sessions': facts({ count: z.int() }, ({ count }) => `${count}`),
  'account.end-session': facts({ sessionId: text }, ({ sessionId }) => sessionId),
  'account.remove-passkey': onPasskey,
  'account.remove-second-factor': onAccount,
  'account.set-name': onAccount,
  'account.set-password': onAccount,
  'account.set-recovery-codes': onAccount,
  'account.set-second-factor': onAccount,
  'account.set-shows-balances': facts(
    { showsBalances: z.boolean() },
    ({ showsBalances }) => `${showsBalances}`,
  ),
  'account.set-timezone': facts({ timezone: text }, ({ timezone }) => timezone),
  'account.signed-up': onAccount,
  [refusedSignIn]: facts(
    /** `account`: the password was wrong. `code-missing`: it was right, and a code is asked for. */
    { refused: z.enum(['account', 'code', 'code-missing', 'passkey']) },
    ({ refused }) => refused,
  ),
  [signedIn]: facts(
    /** `passkey`: one was given, alone or after the password. */
    { passkey: z.boolean().optional() },
    () => 'account',
  ),
  [signedOut]: onAccount,
  [usedRecoveryCode]: onAccount,
  'agent.connected': facts(
    /** `clientName`: as the agent calls itself; null in entries of the first versions. */
    { clientId: text, scopes: z.array(text).readonly(), clientName: text.nullable() },
    ({ clientId, scopes, clientName }) => nameAgent([clientId, ...scopes].join(' '), clientName),
  ),
  'agent.disconnected': facts(
    { clientId: text, clientName: text.nullable() },
    ({ clientId, clientName }) => nameAgent(clientId, clientName),
  ),
  'connections.finish-linking': facts(
    /** `outcome`: `agreed`, or why nothing was linked. */
    { provider: text, outcome: text },
    ({ provider, outcome }) => `${provider} ${outcome}`,
  ),
  'connections.link': facts(
    { provider: text, connectionIds: z.array(text).readonly() },
    ({ provider, connectionIds }) => [provider, ...connectionIds].join(' '),
  ),
  'connections.refresh': onConnection,
  'connections.set-label': onConnection,
  'connections.remove': facts(
    { connectionId: text, endsAtProvider: z.boolean() },
    ({ connectionId, endsAtProvider }) => `${connectionId}${endsAtProvider ? ' at-provider' : ''}`,
  ),
  'connections.start-linking': facts(
    /** `renews`: the connection that is to be renewed; null: a new one. */
    { provider: text, renews: text.nullable() },
    ({ provider, renews }) => (renews === null ? provider : `${provider} ${renews}`),
  ),
  'connections.sync': onConnection,
  'consumers.create': onConsumer,
  'consumers.remove': onConsumer,
  'keys.create': onKey,
  'keys.revoke': onKey,
  'keys.rotate': onKey,
  'plans.set': facts({ plan: text, status: text }, ({ plan, status }) => `${plan} ${status}`),
  'programs.claim': onProgram,
  'programs.create': onProgram,
  /** A setup token that was spent was presented again. */
  'programs.repeat': onProgram,
  'programs.revoke': onProgram,
  'users.create': onUser,
  'users.delete': onUser,
  'users.invite': facts({}, () => 'invitation'),
  'users.remind': onUser,
  'users.reset-second-factor': onUser,
  'users.set-password': onUser,
  'users.withdraw-invitation': facts({}, () => 'invitation'),
  'webhooks.create': onEndpoint,
  'webhooks.disable': facts(
    /** `reason`: `owner`, or why the service disabled it. */
    { endpointId: text, reason: text },
    ({ endpointId, reason }) => (reason === 'owner' ? endpointId : `${endpointId} ${reason}`),
  ),
  'webhooks.enable': onEndpoint,
  'webhooks.failing': facts(
    { endpointId: text, days: z.int() },
    ({ endpointId, days }) => `${endpointId} ${days} days`,
  ),
  'webhooks.remove': onEndpoint,
  'webhooks.replay': onEndpoint,
  'webhooks.rotate': onEndpoint,
  'webhooks.test': onEndpoint,
} as const

function nameAgent(agent: string, name: string | null): string {
  return name === null ? agent : `${agent} as ${name}`
}

type Table = typeof table
export type AuditAction = keyof Table
export type AuditDetails = {
  readonly [Action in AuditAction]: Table[Action] extends ActionFacts<infer Details>
    ? Details
    : never
}
/** What one entry says. */
export type AuditFacts<Action extends AuditAction = AuditAction> = {
  readonly [Each in Action]: { readonly action: Each; readonly details: AuditDetails[Each] }
}[Action]

const actions: { readonly [Action in AuditAction]: ActionFacts<AuditDetails[Action]> } = table

export function isAuditAction(action: string): action is AuditAction {
  return Object.hasOwn(actions, action)
}

/** The facts of an entry; null where this version does not know them. */
export function parseFacts(action: string, details: unknown): AuditFacts | null {
  if (!isAuditAction(action)) return null
  const parsed = actions[action].details.safeParse(details)
  return parsed.success ? ({ action, details: parsed.data } as AuditFacts) : null
}

/** What is stored of an entry. Of `details` only what the table names. */
export function toRecord<Action extends AuditAction>(
  { action, details }: AuditFacts<Action>,
  userId: UserId | null,
) {
  const known = actions[action].details.parse(details)
  return { subject: actions[action].toSubject(known, userId), details: known }
}
